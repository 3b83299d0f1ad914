/**
 * A browser that has been shown many prices keeps a cookie for each, and sends all of them to addresses that differ only in
 * their query, until servers refuse so long a header: the oldest that nobody paid are taken back before.
 */
import type { CheckoutState } from '../core/checkout.ts'
import type { Incoming } from '../core/http.ts'
import { openRequest } from '../core/request-id.ts'
import type { TicketCookie } from '../core/ticket.ts'
import { readOtherTickets } from '../core/ticket.ts'
import type { CheckoutDesk } from './checkout.ts'

/** So many are left in peace, and with more than so many also prices go that could still be paid. */
const [mostKept, mostAtAll] = [24, 48]
/** So many are looked at for one page. */
const mostLookedAt = 6

const over: readonly CheckoutState['state'][] = ['expired', 'used']

/** The names of cookies that are to be taken back. */
export async function outwornCookies(desk: CheckoutDesk, incoming: Incoming): Promise<readonly string[]> {
  const cookies = readOtherTickets(incoming.header('cookie'), incoming.target)
  if (cookies.length < mostKept) return []
  const vain = cookies.length < mostAtAll ? over : [...over, 'waiting']
  const oldest = cookies.toSorted((one, other) => ageOf(one) - ageOf(other)).slice(0, mostLookedAt)
  const isOutworn = async ({ tickets }: TicketCookie): Promise<boolean> => {
    const purchases = tickets.map(({ requestId }) => desk.open(requestId))
    const states = await Promise.all(
      purchases.map(async (purchase) => purchase && (await desk.standingOf(purchase, incoming)).state.state),
    )
    // What another route has sold is none of our business.
    return states.every((state) => state !== undefined && vain.includes(state))
  }
  const isGone = await Promise.all(oldest.map(isOutworn))
  return oldest.filter((_cookie, index) => isGone[index]).map(({ name }) => name)
}

/** When its latest price was made. */
function ageOf({ tickets }: TicketCookie): number {
  return openRequest(tickets[0]?.requestId ?? '')?.issuedAt ?? 0
}
