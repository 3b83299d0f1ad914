/** The state of the page, and its consequences: the message, and whether payment is offered. */
import type { CheckoutFacts, CheckoutState } from '../../core/checkout/messages.ts'
import { describeState, isPayable, type Notice } from '../../core/checkout/texts.ts'
import type { Messages } from './messages.ts'

export interface PageState {
  /** The last state that the service reported. */
  readonly standing: CheckoutState
  /** The progress or the result of a payment with a wallet in this page. */
  readonly step?: Step | undefined
  /** The transaction that this page sent, and its time by the page's clock. */
  readonly sent?: { readonly tx: string; readonly at: number } | undefined
  readonly isDown: boolean
  /** The service has seen the cookie of this purchase, or needs none. */
  readonly isKept: boolean
  /** The reason that payment is not possible here. The page still waits for a payment that was made anyway. */
  readonly objection?: Notice | undefined
  /** Whether the receipt is shown, which names the transaction. Undefined until it is known. */
  readonly hasReceipt?: boolean
  /** The purchase is asked for, to be shown in the page. */
  readonly isOpening?: boolean
  /** The page shows the purchase itself. */
  readonly isOpened?: boolean
  /** The quote has expired, by the page's clock. */
  readonly isOver: boolean
  /** The final message. It is not replaced. */
  readonly last?: Notice | undefined
}

export interface Step {
  readonly notice: Notice
  /** A step is in progress, and no other may start. */
  readonly isBusy: boolean
}

/** A transaction cannot land after this time, because its blockhash has expired. */
const landingMs = 90_000

/** Selects the message, the most serious first. */
export function tell(page: PageState, facts: CheckoutFacts, words: Messages, at: number): Notice | undefined {
  const { standing, step, sent, isDown, isOver, last } = page
  if (last) return last
  const isSettled = !isPayable(standing) && standing.state !== 'expired'
  const isMissing = sent !== undefined && !isSettled && at - sent.at > landingMs
  if (isMissing && !isDown) return words.missing
  const isConfirming = standing.state === 'confirming' || (sent !== undefined && !isSettled)
  if (isConfirming) return confirming(page, facts, words)
  if (standing.state === 'paid') return paid(page, facts, words)
  if (isSettled) return describeState(standing, facts)
  if (page.objection) return page.objection
  if (step?.isBusy) return step.notice
  if (isDown) return words.down
  if (standing.state === 'expired') return describeState(standing, facts)
  if (isOver) return words.over
  return step?.notice ?? describeState(standing, facts)
}

function paid(
  { standing, hasReceipt, isOpening, isOpened }: PageState,
  facts: CheckoutFacts,
  words: Messages,
): Notice | undefined {
  if (isOpening) return words.opening
  const notice = isOpened ? words.paid : describeState(standing, facts)
  if (!notice || facts.after === 'return' || hasReceipt === false) return notice
  const { tx: _, ...rest } = notice
  return rest
}

function confirming(
  { standing, step, sent, isDown, isOver }: PageState,
  facts: CheckoutFacts,
  words: Messages,
): Notice | undefined {
  if (isDown) return words.down
  if (sent)
    return { ...(isOver || standing.state === 'expired' ? words.confirmingOver : words.confirming), tx: sent.tx }
  const notice = describeState(standing, facts)
  const seen = notice && isOver ? { ...notice, text: words.confirmingOver.text } : notice
  // Another device paid while a wallet here asks for the same payment.
  return seen && step?.isBusy ? { ...seen, text: `${seen.text} ${facts.texts.declineIt}` } : seen
}

/**
 * Whether the ways to pay are shown. The page never offers a second payment, or one without the cookie that opens the
 * resource.
 */
export function isOffered({ standing, step, sent, isOver, isKept, objection, last }: PageState): boolean {
  return !last && !sent && isKept && !objection && isPayable(standing) && (!isOver || step?.isBusy === true)
}

/** Whether they are expected to be shown once the service has seen the cookie. */
export function isHeldBack(page: PageState): boolean {
  return !page.isKept && !page.isDown && isOffered({ ...page, isKept: true })
}

/** Whether a payment is offered, and none is in progress here. */
export function isIdle(page: PageState): boolean {
  return isOffered(page) && !page.step?.isBusy
}

/** Whether the state is final. */
export function isEnded({ standing, last }: PageState): boolean {
  return last !== undefined || ['paid', 'used', 'stranded'].includes(standing.state)
}
