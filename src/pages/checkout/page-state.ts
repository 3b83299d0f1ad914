/** Where the page stands, and what follows from it: what is told, and whether paying is offered. */
import type { CheckoutFacts, CheckoutState } from '../../core/checkout/messages.ts'
import type { Notice } from '../../core/checkout/texts.ts'
import { describeState, isPayable } from '../../core/checkout/texts.ts'
import * as words from './messages.ts'

export interface PageState {
  /** The service's last word. */
  readonly standing: CheckoutState
  /** How far somebody is who pays with a wallet in this page, or how that ended. */
  readonly step?: Step | undefined
  /** What was sent from this page, and when by the page's clock. */
  readonly sent?: { readonly tx: string; readonly at: number } | undefined
  readonly isDown: boolean
  /** The service has seen the cookie of this purchase, or needs none. */
  readonly isKept: boolean
  /** Why nothing can be paid here. A payment that was made all the same is still waited for. */
  readonly objection?: Notice | undefined
  /** The price's time is over, as far as the page can tell. */
  readonly isOver: boolean
  /** The end of it: nothing else is told any more. */
  readonly last?: Notice | undefined
}

export interface Step {
  readonly notice: Notice
  /** Under way: nothing else may begin. */
  readonly isBusy: boolean
}

/** After this long a transaction can no longer land: what its signer saw of the chain is too old by then. */
const landingMs = 90_000

/** What is told, the gravest first. */
export function tell(page: PageState, facts: CheckoutFacts, at: number): Notice | undefined {
  const { standing, step, sent, isDown, isOver, last } = page
  if (last) return last
  const isSettled = !isPayable(standing) && standing.state !== 'expired'
  const isMissing = sent !== undefined && !isSettled && at - sent.at > landingMs
  if (isMissing && !isDown) return words.missing
  const isConfirming = standing.state === 'confirming' || (sent !== undefined && !isSettled)
  if (isConfirming) return confirming(page, facts)
  if (isSettled) return describeState(standing, facts)
  if (page.objection) return page.objection
  if (step?.isBusy) return step.notice
  if (isDown) return words.down
  if (standing.state === 'expired') return describeState(standing, facts)
  if (isOver) return words.over
  return step?.notice ?? describeState(standing, facts)
}

function confirming({ standing, step, sent, isDown, isOver }: PageState, facts: CheckoutFacts): Notice | undefined {
  if (isDown) return words.down
  if (sent)
    return { ...(isOver || standing.state === 'expired' ? words.confirmingOver : words.confirming), tx: sent.tx }
  const notice = describeState(standing, facts)
  const seen = notice && isOver ? { ...notice, text: words.confirmingOver.text } : notice
  // Paid from elsewhere while a wallet here is asked for the same.
  return seen && step?.isBusy ? { ...seen, text: `${seen.text} Decline what your wallet is asking here.` } : seen
}

/** Whether the ways to pay are shown. Nobody is offered to pay twice, or without the cookie that opens what is bought. */
export function isOffered({ standing, step, sent, isOver, isKept, objection, last }: PageState): boolean {
  return !last && !sent && isKept && !objection && isPayable(standing) && (!isOver || step?.isBusy === true)
}

/** Whether they will be, as far as is known, once the service has seen the cookie. */
export function isHeldBack(page: PageState): boolean {
  return !page.isKept && !page.isDown && isOffered({ ...page, isKept: true })
}

/** Whether nothing more can come that would change what is told. */
export function isEnded({ standing, last }: PageState): boolean {
  return last !== undefined || ['paid', 'used', 'stranded'].includes(standing.state)
}
