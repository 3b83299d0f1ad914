/**
 * The texts that tell people the state of their purchase. The service and the page's script use the same words, in the
 * language of the browser.
 */
import { formatDecimal } from '../money/money.ts'
import type { CheckoutTexts } from './languages/en.ts'
import { fill } from './languages/fill.ts'
import type { CheckoutFacts, CheckoutState, CheckoutToken } from './messages.ts'

export interface Notice {
  readonly tone: 'info' | 'busy' | 'good' | 'warn'
  readonly title: string
  readonly text: string
  /** The transaction that the text is about. */
  readonly tx?: string
  /** The label of a link. It reloads the page, unless `href` names another address. */
  readonly action?: string
  readonly href?: string
  /** The link opens the purchase. */
  readonly opens?: true
  /** The link opens another tab, so that this page keeps the receipt. */
  readonly isApart?: true
  /** The link is shown plainly, without emphasis, because most people do not need it. */
  readonly isQuiet?: true
  /** A command for a terminal. */
  readonly command?: string
}

/** The language of a page, and its way to write numbers. */
export type Wording = Pick<CheckoutFacts, 'texts' | 'locale'>

/** Prices with more digits are shown in a smaller font. */
export const longPrice = 9

/** The exact price: "1,234.5 USDC". */
export function formatPrice({ amount, token }: Pick<CheckoutToken, 'amount' | 'token'>, { locale }: Wording): string {
  return `${formatDecimal(amount, locale)} ${token}`
}

/** The title of the page. It follows the chosen token. */
export function formatTitle(price: CheckoutToken | undefined, facts: Wording & Pick<CheckoutFacts, 'seller'>): string {
  const { seller, texts } = facts
  return fill(texts.title, { price: price ? formatPrice(price, facts) : '', seller })
}

/** The approximate value, to stand beside the exact price. Empty without a rate. */
export function formatWorth({ dollars }: CheckoutToken, { texts, locale }: Wording): string {
  return dollars === undefined ? '' : fill(texts.worth, { amount: formatDecimal(dollars, locale, 2) })
}

/** Undefined if there is nothing to report, before the first payment. */
export function describeState(
  state: CheckoutState,
  facts: Wording & Pick<CheckoutFacts, 'after' | 'isAgain' | 'canReopen' | 'returnUrl'>,
): Notice | undefined {
  const { texts, locale } = facts
  const isBack = facts.after === 'return'
  const onward = isBack ? {} : { action: texts.newPrice }
  const ask = isBack ? ` ${texts.goBack}` : ''
  switch (state.state) {
    case 'waiting':
      return facts.isAgain ? { tone: 'info', title: texts.againTitle, text: texts.againText } : undefined
    case 'confirming':
      return {
        tone: 'busy',
        title: texts.detectedTitle,
        text: texts.detectedText,
        ...(state.tx !== undefined && { tx: state.tx }),
      }
    case 'paid':
      return describePaid(state.tx, facts)
    case 'used':
      if (!isBack) return openedElsewhere(state.tx, texts)
      return { tone: 'info', title: texts.usedTitle, text: texts.usedText, tx: state.tx }
    case 'stranded':
      return { tone: 'warn', title: texts.strandedTitle, text: texts.strandedText, tx: state.tx }
    case 'short': {
      const [received, required] = [state.received, state.required].map((amount) => formatDecimal(amount, locale))
      const text = fill(texts.shortText, { received: received ?? '', required: required ?? '', token: state.token })
      return { tone: 'warn', title: texts.shortTitle, text, tx: state.tx }
    }
    case 'late':
      return { tone: 'warn', title: texts.lateTitle, text: `${texts.lateText}${ask}`, tx: state.tx, ...onward }
    case 'wrong': {
      const why = sentence(state.why)
      const text = state.isFailed ? why : fill(texts.wrongText, { why })
      return { tone: 'warn', title: texts.wrongTitle, text, tx: state.tx }
    }
    case 'expired':
      return { tone: 'info', title: texts.expiredTitle, text: `${texts.nothingPaid}${ask}`, ...onward }
  }
}

function describePaid(tx: string, facts: Parameters<typeof describeState>[1]): Notice {
  const { texts, after, canReopen, returnUrl } = facts
  const paid = { tone: 'good', title: texts.paidTitle, tx } as const
  const apart = canReopen ? ({ isApart: true } as const) : {}
  if (after === 'reload') return { ...paid, text: texts.paidText, action: texts.open, opens: true, ...apart }
  const back = returnUrl === undefined ? {} : { action: texts.returnToSeller, href: returnUrl }
  return { ...paid, text: texts.paidBackText, ...back }
}

/** The tabs of a browser share one purchase, and one of them shows the resource. The other tabs offer no payment. */
export function openedElsewhere(tx: string, texts: CheckoutTexts): Notice {
  return {
    tone: 'info',
    title: texts.elsewhereTitle,
    text: texts.elsewhereText,
    tx,
    action: texts.reload,
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
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?\u3002\uff01\uff1f]$/.test(trimmed) ? '' : '.'}`
}
