/**
 * The order of payouts if not all payees can be paid: the longest wait comes first, and the remaining amount is saved
 * for that payee and not given to later ones. No payee waits forever, regardless of the income of others.
 */
import { mapLimit } from '../../core/collections/map-limit.ts'
import { formatUnits } from '../../core/money/money.ts'
import { draftLine, type PayoutTerms } from '../../core/payouts/payout-lines.ts'
import type { OutgoingTransactions, PayoutLine } from '../../core/payouts/ports/outgoing.ts'
import type { Owed } from '../../core/payouts/ports/rewards.ts'
import { askedAtOnce, type PayoutPlanParts, readTerms } from './plan.ts'

export interface TurnParts extends PayoutPlanParts {
  readonly outgoing: Pick<OutgoingTransactions, 'linesOf'>
  readonly limits: { readonly least: bigint; readonly dailyCap: bigint | undefined }
}

export interface Turns {
  readonly lines: readonly PayoutLine[]
  /**
   * Payees that exceed even a full day's limit, with the reason. Waiting does not help them, and they do not block
   * others.
   */
  readonly beyond: readonly { readonly line: PayoutLine; readonly why: string }[]
}

/**
 * Selects lines up to the available sum. A payee that cannot be paid in full gets a part, its oldest accruals, and has
 * then had its turn. A very large balance therefore does not block others either.
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

/** Sorts by the start of the wait: the earliest unpaid earning or the last payout, whichever is later. */
async function byWaiting({ rewards, outgoing }: TurnParts, lines: readonly PayoutLine[]) {
  const waits = await mapLimit(lines, askedAtOnce, async (line) => {
    const number = (await rewards.owed(line, 0n))?.through ?? line.through
    const [first] = await rewards.accruals(number - 1, 1)
    const before = (await outgoing.linesOf(line, latest)).find(({ transaction }) => transaction.state === 'landed')
    return { line, number, since: Math.max(first?.at ?? 0, before?.transaction.changedAt ?? 0) }
  })
  return [...waits].sort((one, other) => one.since - other.since || one.number - other.number).map(({ line }) => line)
}

/** Some of a payee's latest payouts may have been dropped. */
const latest = 8

/**
 * The part of a line that the available sum covers. `later`: nothing yet, but the sum will suffice; otherwise the
 * reason why it never will.
 */
async function reduce(parts: TurnParts, terms: PayoutTerms, line: PayoutLine, left: bigint) {
  const { dailyCap } = parts.limits
  const part = draftPart(terms, line, await parts.rewards.owed(line, left))
  if (part && part.units <= left) return part
  if (dailyCap === undefined || line.units <= dailyCap) return 'later'
  const owed = await parts.rewards.owed(line, dailyCap)
  // If a full day's limit covers only the first small accruals, these are sent, because the rest can only follow them.
  const most = draftPart(terms, line, owed) ?? draftPart({ ...terms, least: 0n }, line, owed)
  if (!most) return 'rewards.dailyCap is too low for the first part of the owed amount'
  if (most.units <= left) return most
  if (most.units <= dailyCap) return 'later'
  const amount = formatUnits(most.units, parts.native.decimals)
  return `one payment earned ${amount} NATIVE, which is more than rewards.dailyCap`
}

function draftPart(terms: PayoutTerms, line: PayoutLine, owed: Owed | undefined): PayoutLine | undefined {
  if (!owed) return undefined
  const { role, payee, opening } = line
  const drafted = draftLine({ role, payee, owed, account: opening > 0n ? 'missing' : 'ready' }, terms)
  return drafted.kind === 'line' ? drafted.line : undefined
}
