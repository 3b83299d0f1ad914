/** Seven days in a minute: customers buy, then the chain's clock advances by some hours, repeatedly. */
import type { OwnChain } from '../local-chain.ts'
import type { Terminal } from '../output.ts'
import { inviteGuests } from './crowd.ts'
import { formatDay } from './messages.ts'

const turns = 24
const secondsPerTurn = (7 * 86_400) / turns
const visitsPerTurn = 2
/** Enough slots to finalize the payments, and few enough that no signed transaction expires. */
const slotsPerTurn = 40
/** The longest time until all readers of the chain's clock see the jump. */
const settleMs = 500
const turnMs = 60_000 / turns

/** Resolves after the last turn. No customer buys while the clock jumps, because the quote would have expired. */
export async function passWeek(terminal: Terminal, chain: OwnChain, url: string): Promise<void> {
  const { visit } = inviteGuests(chain, url)
  terminal.note('Simulating seven days in the next minute. Watch Rewards and Settlement on the dashboard.')
  const since = chain.localnet.now()
  let told = ''
  for (let turn = 0; turn < turns; turn += 1) {
    const day = formatDay(chain.localnet.now(), since)
    if (day !== told) terminal.note(day)
    told = day
    const begun = performance.now()
    const visits = Array.from({ length: visitsPerTurn }, () => visit().catch(() => {}))
    await Promise.all(visits)
    chain.localnet.advance(secondsPerTurn, slotsPerTurn)
    await pause(Math.max(settleMs, turnMs - (performance.now() - begun)))
  }
  terminal.note('The seven days are over. Time runs normally now.')
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
