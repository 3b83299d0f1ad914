/** What `/pay` needs of a route to sell for it: by the requestId alone, wherever the resource is. */
import type { CheckoutState, Preparation } from '../../core/checkout/messages.ts'
import type { Answer, Incoming } from '../../core/encoding/http.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Refusal } from '../../core/payment/refusals.ts'

export interface PayDesk {
  /** What is sold, for people. */
  readonly title: string
  /** Where a purchase stands; undefined for a requestId that is none of this route's. */
  stateOf(requestId: string, incoming: Incoming): Promise<CheckoutState['state'] | undefined>
  /** The page on which a requestId is paid for another program, which asked for it; undefined for one that is none of ours. */
  payPage(requestId: string, incoming: Incoming): Promise<Answer | Refusal | undefined>
  /** What the page's script asks. */
  answer(header: string, incoming: Incoming): Promise<Answer | Refusal>
  /** A transaction for a wallet on a phone; without a token, in that of the price or the first that is accepted. */
  draft(
    requestId: string,
    account: string,
    token: TokenCode | undefined,
    incoming: Incoming,
  ): Promise<Preparation | Refusal>
}
