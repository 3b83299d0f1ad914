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
  /** The label of a link that reloads the page. */
  readonly action?: string
  /** The link is shown plainly, without emphasis, because most people do not need it. */
  readonly isQuiet?: true
  /** A command for a terminal. */
  readonly command?: string
}

/** Prices with more digits are shown in a smaller font. */
export const longPrice = 9

const keep = 'To get back what you sent, show this transaction to the seller.'

/** Undefined if there is nothing to report, before the first payment. */
export function describeState(
  state: CheckoutState,
  facts: Pick<CheckoutFacts, 'after' | 'isAgain'>,
): Notice | undefined {
  const isBack = facts.after === 'return'
  const onward = isBack ? {} : { action: 'Get a new price' }
  const ask = isBack ? ' Go back, and ask for a new price there.' : ''
  switch (state.state) {
    case 'waiting':
      return facts.isAgain
        ? {
            tone: 'info',
            title: 'You have bought this before',
            text: 'It was delivered. Pay again only if you want it once more.',
          }
        : undefined
    case 'confirming':
      return {
        tone: 'busy',
        title: 'Payment seen',
        text: 'It is being confirmed, which takes a few seconds. Please do not pay again.',
        ...(state.tx !== undefined && { tx: state.tx }),
      }
    case 'paid':
      return isBack
        ? { tone: 'good', title: 'Paid', text: 'Thank you. You can go back now, and close this page.', tx: state.tx }
        : { tone: 'good', title: 'Paid', text: 'Thank you. What you bought is ready.', tx: state.tx, action: 'Open it' }
    case 'used':
      if (!isBack) return openedElsewhere(state.tx)
      return {
        tone: 'info',
        title: 'This payment has been used',
        text: 'What it bought was delivered.',
        tx: state.tx,
      }
    case 'stranded':
      return {
        tone: 'warn',
        title: 'Paid, but it cannot be opened here',
        text: `This browser does not have the cookie that opens what was bought. ${keep}`,
        tx: state.tx,
      }
    case 'short':
      return {
        tone: 'warn',
        title: 'Too little was paid',
        text:
          `${state.received} ${state.token} arrived, but the price is ${state.required} ${state.token}. ` +
          `A part does not count: pay the whole price below, in one payment. ${keep}`,
        tx: state.tx,
      }
    case 'late':
      return {
        tone: 'warn',
        title: 'Paid too late',
        text: `The payment arrived after the price had expired, and cannot be accepted. ${keep}${ask}`,
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
    text: 'This was paid, and another tab of this browser shows what it bought. If that tab is gone, load this page again.',
    tx,
    action: 'Load this page again',
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
