/** The functions of a route that `/pay` uses to sell for it. They need only the requestId, wherever the resource is. */
import type { CheckoutState, Preparation } from '../../core/checkout/messages.ts'
import type { Answer, Incoming } from '../../core/http/http.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Refusal } from '../../core/payment/refusals.ts'

export interface PayDesk {
  /** The name of the resource, for people. */
  readonly title: string
  /** The name that wallets show for the recipient: the seller's, or else that of the resource. */
  readonly label: string
  /** The state of a purchase. Undefined if the requestId does not belong to this route. */
  readState(requestId: string, incoming: Incoming): Promise<CheckoutState['state'] | undefined>
  /** The page that pays for a requestId of another program. Undefined if the requestId is not genuine. */
  payPage(requestId: string, incoming: Incoming): Promise<Answer | Refusal | undefined>
  /** Serves the requests of the page's script. */
  answer(header: string, incoming: Incoming): Promise<Answer | Refusal>
  /**
   * A transaction for a wallet on a phone. Without `token`, it uses the token of the price, or the first accepted one.
   */
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
  /** The returned function removes the desk. */
  add(tags: readonly string[], desk: PayDesk): () => void
}

/** The first desk serves its tags until it is removed, because its replacement may fail to start. */
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
