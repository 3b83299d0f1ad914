/**
 * Whose turn it is when not everybody can be paid: who has waited longest comes first, and what is left is saved for them
 * rather than given to those behind. So nobody waits for ever, however much trickles in for others.
 */
import { mapLimit } from '../../core/encoding/map-limit.ts'
import { formatUnits } from '../../core/money/money.ts'
import type { PayoutTerms } from '../../core/payouts/payout-lines.ts'
import { draftLine } from '../../core/payouts/payout-lines.ts'
import type { OutgoingTransactions, PayoutLine } from '../../core/payouts/ports/outgoing.ts'
import type { Owed } from '../../core/payouts/ports/rewards.ts'
import type { PayoutPlanParts } from './plan.ts'
import { askedAtOnce, readTerms } from './plan.ts'

export interface TurnParts extends PayoutPlanParts {
  readonly outgoing: Pick<OutgoingTransactions, 'linesOf'>
  readonly limits: { readonly least: bigint; readonly dailyCap: bigint | undefined }
}

export interface Turns {
  readonly lines: readonly PayoutLine[]
  /** Those for whom no day is enough, and why: waiting does not help them. They keep nobody waiting. */
  readonly beyond: readonly { readonly line: PayoutLine; readonly why: string }[]
}

/**
 * Of the lines what comes to no more than that together. Who cannot be paid whole gets a part, the oldest accruals, and has
 * then had their turn: so one to whom very much is owed does not hold up the others either.
 */
export async function takeTurns(parts: TurnParts, lines: readonly PayoutLine[], most: bigint): Promise<Turns> {
  if (lines.reduce((sum, { units }) => sum + units, 0n) <= most) return { lines, beyond: [] }
  const terms = most > 0n ? await readTerms(parts) : ''
  if (typeof terms === 'string') return { lines: [], beyond: [] }
  const paid: PayoutLine[] = []
  const beyond: { readonly line: PayoutLine; readonly why: string }[] = []
  let left = most
  for (const line of await byWaiting(parts, lines)) {
    const turn = line.units <= left ? line : await reduce(parts, terms, line, left)
    if (turn === 'later') break
    if (typeof turn === 'string') {
      beyond.push({ line, why: turn })
      continue
    }
    paid.push(turn)
    left -= turn.units
  }
  return { lines: paid, beyond }
}

/** By the time since which they wait: since they earned what is owed first, or were last paid, whichever was later. */
async function byWaiting(
  { rewards, outgoing }: TurnParts,
  lines: readonly PayoutLine[],
): Promise<readonly PayoutLine[]> {
  const waits = await mapLimit(lines, askedAtOnce, async (line) => {
    const number = (await rewards.owed(line, 0n))?.upto ?? line.upto
    const [first] = await rewards.accruals(number - 1, 1)
    const before = (await outgoing.linesOf(line, latest)).find(({ dispatch }) => dispatch.state === 'landed')
    return { line, number, since: Math.max(first?.at ?? 0, before?.dispatch.changedAt ?? 0) }
  })
  return [...waits].sort((one, other) => one.since - other.since || one.number - other.number).map(({ line }) => line)
}

/** Some of the latest payouts of a payee may have been given up. */
const latest = 8

/** What can be sent of it by what is left. `later`: nothing yet, but there will be enough; otherwise why there never will. */
async function reduce(
  parts: TurnParts,
  terms: PayoutTerms,
  line: PayoutLine,
  left: bigint,
): Promise<PayoutLine | string> {
  const { dailyCap } = parts.limits
  const part = draftPart(terms, line, await parts.rewards.owed(line, left))
  if (part && part.units <= left) return part
  if (dailyCap === undefined || line.units <= dailyCap) return 'later'
  const owed = await parts.rewards.owed(line, dailyCap)
  // Where a whole day does not reach beyond the little that is owed first, that little is sent: the rest can follow only then.
  const most = draftPart(terms, line, owed) ?? draftPart({ ...terms, least: 0n }, line, owed)
  if (!most) return 'what rewards.dailyCap lets out in 24 hours is too little for the first part of what is owed'
  if (most.units <= left) return most
  if (most.units <= dailyCap) return 'later'
  const amount = formatUnits(most.units, parts.native.decimals)
  return `one payment earned ${amount} NATIVE, more than rewards.dailyCap lets out in 24 hours`
}

function draftPart(terms: PayoutTerms, line: PayoutLine, owed: Owed | undefined): PayoutLine | undefined {
  if (!owed) return undefined
  const { role, payee, opening } = line
  const drafted = draftLine({ role, payee, owed, account: opening > 0n ? 'missing' : 'ready' }, terms)
  return drafted.kind === 'line' ? drafted.line : undefined
}
