/** What keeps payouts within bounds: what may go out and be spent on fees in a day, and what the wallet holds. */
import { formatUnits } from '../../core/money/money.ts'
import { solDecimals } from '../../core/money/tokens.ts'
import type { OutgoingWallet } from '../../core/payouts/outgoing-wallet.ts'
import type { OutgoingTransactions, PayoutLine, SigningBudget } from '../../core/payouts/ports/outgoing.ts'
import { takeTurns } from './order.ts'
import type { OutgoingTransactionParts } from './outgoing-transactions.ts'
import { feesSpent as whySpent } from './outgoing-transactions.ts'
import type { PayoutPlanParts } from './plan.ts'
import { dayMs, hourMs } from './plan.ts'

export interface PayoutsParts extends OutgoingTransactionParts, PayoutPlanParts {
  readonly outgoing: OutgoingTransactions
  readonly outgoingWallet: OutgoingWallet
  readonly limits: PayoutLimits
  /** Nothing new is sent while this is so. What was sent is followed all the same. */
  readonly isPaused: () => Promise<boolean>
}

export interface PayoutLimits {
  /** The least that is sent to anybody, and the most to all within 24 hours; base units of NATIVE. */
  readonly least: bigint
  readonly dailyCap: bigint | undefined
  /** How often it is looked whether anybody is to be paid. */
  readonly everyMs: number
  /** What all transactions may cost within 24 hours, and one of them at the most, in lamports. */
  readonly dailyFees: bigint
  readonly fee: bigint
}

/** What a worker knows of its own; another who knows nothing of it does no harm. */
export interface Memory {
  /** Those whose payout failed among others: each is tried alone, so that one who cannot be paid holds up nobody. */
  readonly suspects: Set<string>
}

/** What can be paid by what may be sent today, and by what the wallet holds beyond what is reserved. */
export async function limit(parts: PayoutsParts, lines: readonly PayoutLine[]): Promise<readonly PayoutLine[]> {
  const { outgoing, rewards, limits, clock } = parts
  const { dailyCap } = limits
  let most = sumUp(lines)
  if (dailyCap !== undefined) {
    const left = dailyCap - (await outgoing.planned(Math.floor(clock.now()) - dayMs))
    if (left < most) {
      emit(parts, capReached)
      most = left
    }
  }
  const held = await readHoldings(parts)
  const reserved = (await rewards.sums()).reduce((sum, one) => sum + one.reserved, 0n)
  if (held && held.units < reserved + most) {
    emit(parts, { why: shortOf(parts, held.units, reserved + most) })
    most = held.units - reserved
  }
  const turns = await takeTurns(parts, lines, most)
  for (const { line, why } of turns.beyond) {
    emit(parts, { why, next: 'raise rewards.dailyCap' })
    await rewards.park(line, `${why}; raise it`, Math.floor(clock.now()) + hourMs)
  }
  return turns.lines
}

export const capReached = { why: 'the most for 24 hours is reached', next: 'raise rewards.dailyCap or wait' }
export const feesSpent = { why: whySpent, next: 'raise rewards.dailyFees or wait' }

/** Whatever is signed may land, and cost its fee: a lamport at the least, whatever is configured. */
export function readBudget({ limits, clock }: PayoutsParts): SigningBudget {
  return { since: Math.floor(clock.now()) - dayMs, most: limits.dailyFees / (limits.fee || 1n) }
}

/** Whether so many more could cost more than a day may. Only a look ahead: it counts where they are signed. */
export async function areFeesSpent(parts: PayoutsParts, more: number): Promise<boolean> {
  const { since, most } = readBudget(parts)
  return (await parts.outgoing.signings(since)) + BigInt(more) > most
}

/** What the wallet lacks to pay all this, in one sentence. */
export async function findShortage(parts: PayoutsParts, lines: readonly PayoutLine[]): Promise<string | undefined> {
  const { outgoingWallet, native, limits } = parts
  const held = await readHoldings(parts)
  if (!held) return 'no node tells what the wallet holds'
  const needed = sumUp(lines)
  if (held.units < needed) return shortOf(parts, held.units, needed)
  const openings = lines.filter(({ opening }) => opening > 0n).length
  const rent = openings === 0 ? 0n : ((await outgoingWallet.openingCost(native)) ?? 0n) * BigInt(openings)
  const fees = rent + limits.fee
  if (held.lamports >= fees) return undefined
  const [sol, neededSol] = [formatUnits(held.lamports, solDecimals), formatUnits(fees, solDecimals)]
  return `${outgoingWallet.wallet} holds ${sol} SOL and needs ${neededSol} for fees; send it there`
}

function shortOf({ outgoingWallet, native }: PayoutsParts, held: bigint, needed: bigint): string {
  const amount = (units: bigint) => formatUnits(units, native.decimals)
  return `${outgoingWallet.wallet} holds ${amount(held)} NATIVE and needs ${amount(needed)}; send it there`
}

async function readHoldings({
  outgoingWallet,
  native,
  meter,
}: PayoutsParts): Promise<{ readonly lamports: bigint; readonly units: bigint } | undefined> {
  const holdings = await outgoingWallet.holdings([native])
  if (!holdings) return undefined
  const {
    lamports,
    units: [units = 0n],
  } = holdings
  meter.set('paystile_payout_lamports', Number(lamports))
  meter.set('paystile_payout_native', Number(formatUnits(units, native.decimals)))
  return { lamports, units }
}

export function emit({ log }: PayoutsParts, facts: { readonly why: string; readonly next?: string }): void {
  log.warn('payouts wait', facts)
}

function sumUp(lines: readonly PayoutLine[]): bigint {
  return lines.reduce((sum, { units }) => sum + units, 0n)
}
