/**
 * The texts that tell people the state of their purchase. The service and the page's script use the same words.
 */
import type { CheckoutFacts, CheckoutState } from './messages.ts'

export interface Notice {
  readonly tone: 'info' | 'busy' | 'good' | 'warn' | 'bad'
  readonly title: string
  readonly text: string
  /** The transaction that the text is about. */
  readonly tx?: string
  /** The label of a link. It reloads the page, unless `href` names another address. */
  readonly action?: string
  readonly href?: string
  /** The link is shown plainly, without emphasis, because most people do not need it. */
  readonly isQuiet?: true
  /** A command for a terminal. */
  readonly command?: string
}

/** Prices with more digits are shown in a smaller font. */
export const longPrice = 9

const keep = 'For a refund, show this transaction to the seller.'

const paid = { tone: 'good', title: 'Paid' } as const

/** Undefined if there is nothing to report, before the first payment. */
export function describeState(
  state: CheckoutState,
  facts: Pick<CheckoutFacts, 'after' | 'isAgain' | 'returnUrl'>,
): Notice | undefined {
  const isBack = facts.after === 'return'
  const onward = isBack ? {} : { action: 'Get a new price' }
  const ask = isBack ? ' Go back and request a new price.' : ''
  switch (state.state) {
    case 'waiting':
      return facts.isAgain
        ? {
            tone: 'info',
            title: 'You have already bought this',
            text: 'It was delivered. Pay again only if you want to buy it again.',
          }
        : undefined
    case 'confirming':
      return {
        tone: 'busy',
        title: 'Payment detected',
        text: 'Confirmation takes a few seconds. Please do not pay again.',
        ...(state.tx !== undefined && { tx: state.tx }),
      }
    case 'paid':
      if (!isBack)
        return { ...paid, text: 'Thank you. Your purchase is ready.', tx: state.tx, action: 'Open your purchase' }
      return {
        ...paid,
        text: 'Thank you. You can close this page now.',
        tx: state.tx,
        ...(facts.returnUrl !== undefined && { action: 'Return to the seller', href: facts.returnUrl }),
      }
    case 'used':
      if (!isBack) return openedElsewhere(state.tx)
      return {
        tone: 'info',
        title: 'This payment has already been used',
        text: 'The purchase was delivered.',
        tx: state.tx,
      }
    case 'stranded':
      return {
        tone: 'warn',
        title: 'Paid, but it cannot be opened here',
        text: `The cookie that opens the purchase is missing in this browser. ${keep}`,
        tx: state.tx,
      }
    case 'short':
      return {
        tone: 'warn',
        title: 'The amount is too low',
        text:
          `${state.received} ${state.token} arrived, but the price is ${state.required} ${state.token}. ` +
          `Partial payments do not count. Pay the full price below, in one payment. ${keep}`,
        tx: state.tx,
      }
    case 'late':
      return {
        tone: 'warn',
        title: 'Paid too late',
        text: `The payment arrived after the price had expired and cannot be accepted. ${keep}${ask}`,
        tx: state.tx,
        ...onward,
      }
    case 'wrong':
      return {
        tone: 'warn',
        title: 'This payment cannot be accepted',
        text: `${sentence(state.why)} ${keep}`,
        tx: state.tx,
      }
    case 'expired':
      return { tone: 'info', title: 'This price has expired', text: `Nothing was paid.${ask}`, ...onward }
  }
}

/** The tabs of a browser share one purchase, and one of them shows the resource. The other tabs offer no payment. */
export function openedElsewhere(tx: string): Notice {
  return {
    tone: 'info',
    title: 'Opened in another tab',
    text: 'Another tab of this browser shows your purchase and its receipt. If you closed that tab, reload this page.',
    tx,
    action: 'Reload this page',
    isQuiet: true,
  }
}

/** Whether the page should still offer payment. */
export function isPayable(state: CheckoutState): boolean {
  return state.state === 'waiting' || state.state === 'short' || state.state === 'wrong'
}

/** Turns a reason from any source into a complete sentence. */
export function sentence(text: string): string {
  const trimmed = text.trim()
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? '' : '.'}`
}
