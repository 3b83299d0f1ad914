/**
 * Removes stale cookies. A browser keeps a cookie for each quoted price and sends them with every request, until
 * servers refuse so long a header. Before that, the oldest cookies without a payment are removed.
 */
import { readOtherTickets, type TicketCookie, type TicketPlace } from '../../core/checkout/cookie.ts'
import type { CheckoutState } from '../../core/checkout/messages.ts'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Incoming } from '../../core/http/http.ts'
import { openRequest } from '../../core/protocol/request-id.ts'
import type { PayDesk } from '../runtime/pay-desk.ts'

/** Limits for all cookies of a browser, including the one of this address. */
const [mostCookies, mostBytes] = [16, 4_096]
/** The number of cookies that are checked for one page. */
const mostLookedAt = 8

/** The value of a cookie, the least valuable first. */
const worths = ['over', 'price', 'unknown', 'payment'] as const
type Worth = (typeof worths)[number]

const over: readonly CheckoutState['state'][] = ['expired', 'used']

/** The names of cookies to remove beside a new one of this size. Cookies with payments stay. */
export async function findStaleCookies(
  { payDesks }: { readonly payDesks: { get(tag: string): Pick<PayDesk, 'readState'> | undefined } },
  incoming: Incoming,
  place: TicketPlace,
  newBytes: number,
): Promise<readonly string[]> {
  const cookies = readOtherTickets(incoming.header('cookie'), place)
  let count = cookies.length + 1
  let bytes = cookies.reduce((sum, cookie) => sum + cookie.bytes, newBytes)
  const isTooMuch = (): boolean => count > mostCookies || bytes > mostBytes
  if (!isTooMuch()) return []
  const stateOf = async (requestId: string): Promise<CheckoutState['state'] | undefined> => {
    const tag = openRequest(requestId)?.routeTag
    return tag && (await payDesks.get(encodeBase58(tag))?.readState(requestId, incoming))
  }
  const worthOf = async ({ tickets }: TicketCookie): Promise<Worth> => {
    const states = await Promise.all(tickets.map(({ requestId }) => stateOf(requestId)))
    if (states.every((state) => state !== undefined && over.includes(state))) return 'over'
    if (states.includes(undefined)) return 'unknown'
    return states.every((state) => state === 'waiting' || (state && over.includes(state))) ? 'price' : 'payment'
  }
  const oldest = cookies.toSorted((one, other) => ageOf(one) - ageOf(other)).slice(0, mostLookedAt)
  const looked = await Promise.all(oldest.map(async (cookie) => ({ cookie, worth: await worthOf(cookie) })))
  const names: string[] = []
  for (const worth of worths.filter((one) => one !== 'payment'))
    for (const { cookie } of looked.filter((one) => one.worth === worth)) {
      if (!isTooMuch()) return names
      names.push(cookie.name)
      count -= 1
      bytes -= cookie.bytes
    }
  return names
}

/** The time of its latest price. */
function ageOf({ tickets }: TicketCookie): number {
  return openRequest(tickets[0]?.requestId ?? '')?.issuedAt ?? 0
}
