/** What `/pay` needs of a route to sell for it: by the requestId alone, wherever the resource is. */
import type { CheckoutState, Preparation } from '../../core/checkout/messages.ts'
import type { Answer, Incoming } from '../../core/encoding/http.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Refusal } from '../../core/payment/refusals.ts'

export interface PayDesk {
  /** What is sold, for people. */
  readonly title: string
  /** Where a purchase stands; undefined for a requestId that is none of this route's. */
  readState(requestId: string, incoming: Incoming): Promise<CheckoutState['state'] | undefined>
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

/** The desks of a service's routes, by the route's tag in base58. */
export interface PayDesks {
  get(tag: string): PayDesk | undefined
  /** The function returned takes the desk away again. */
  add(tags: readonly string[], desk: PayDesk): () => void
}

/** The desk that came first serves its tags until it is taken away: one that is to replace it may never get that far. */
export function createPayDesks(): PayDesks {
  const desks = new Map<string, readonly PayDesk[]>()
  const at = (tag: string): readonly PayDesk[] => desks.get(tag) ?? []
  return {
    get: (tag) => at(tag)[0],
    add: (tags, desk) => {
      for (const tag of tags) desks.set(tag, [...at(tag), desk])
      return () => {
        for (const tag of tags) {
          const rest = at(tag).filter((one) => one !== desk)
          if (rest.length > 0) desks.set(tag, rest)
          else desks.delete(tag)
        }
      }
    },
  }
}
