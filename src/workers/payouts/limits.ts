/** The limits of payouts: the daily totals of payouts and fees, and the wallet's balance. */
import { formatUnits } from '../../core/money/money.ts'
import { smallestBalance, solDecimals } from '../../core/money/tokens.ts'
import type { OutgoingWallet } from '../../core/payouts/outgoing-wallet.ts'
import type { OutgoingTransactions, PayoutLine, SigningBudget } from '../../core/payouts/ports/outgoing.ts'
import { takeTurns } from './order.ts'
import { type OutgoingTransactionParts, feesSpent as whySpent } from './outgoing-transactions.ts'
import { dayMs, hourMs, type PayoutPlanParts } from './plan.ts'

export interface PayoutsParts extends OutgoingTransactionParts, PayoutPlanParts {
  readonly outgoing: OutgoingTransactions
  readonly outgoingWallet: OutgoingWallet
  readonly limits: PayoutLimits
  /** No new transactions are sent while this is true. Earlier ones are still followed. */
  readonly isPaused: () => Promise<boolean>
}

export interface PayoutLimits {
  /** The minimum per payee, and the maximum total within 24 hours, in base units of NATIVE. */
  readonly least: bigint
  readonly dailyCap: bigint | undefined
  /** Interval between payout runs. */
  readonly everyMs: number
  /** The maximum cost of all transactions within 24 hours, and of one transaction, in lamports. */
  readonly dailyFees: bigint
  readonly fee: bigint
}

/** State of one worker. Other workers do not need it. */
export interface Memory {
  /** Payees of a batch that failed. Each is tried alone, so that one that cannot be paid does not block others. */
  readonly suspects: Set<string>
}

/** Selects the lines that the daily limit and the wallet's unreserved balance allow. */
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

export const capReached = { why: 'the limit for 24 hours is reached', next: 'raise rewards.dailyCap or wait' }
export const feesSpent = { why: whySpent, next: 'raise rewards.dailyFees or wait' }

/** Every signed transaction can land and cost its fee: at least one lamport, regardless of the configuration. */
export function readBudget({ limits, clock }: PayoutsParts): SigningBudget {
  return { since: Math.floor(clock.now()) - dayMs, most: limits.dailyFees / (limits.fee || 1n) }
}

/**
 * Whether this many further transactions could exceed the daily fees. This is a forecast; the limit is enforced at
 * signing.
 */
export async function areFeesSpent(parts: PayoutsParts, more: number): Promise<boolean> {
  const { since, most } = readBudget(parts)
  return (await parts.outgoing.signings(since)) + BigInt(more) > most
}

/** The shortage of the wallet for these lines, in one sentence. */
export async function findShortage(parts: PayoutsParts, lines: readonly PayoutLine[]): Promise<string | undefined> {
  const { outgoingWallet, native, limits } = parts
  const held = await readHoldings(parts)
  if (!held) return 'no node returned the balance of the wallet'
  const needed = sumUp(lines)
  if (held.units < needed) return shortOf(parts, held.units, needed)
  const openings = lines.filter(({ opening }) => opening > 0n).length
  const rent = openings === 0 ? 0n : ((await outgoingWallet.openingCost(native)) ?? 0n) * BigInt(openings)
  const fees = rent + limits.fee + smallestBalance
  if (held.lamports >= fees) return undefined
  const [sol, neededSol] = [formatUnits(held.lamports, solDecimals), formatUnits(fees, solDecimals)]
  return `${outgoingWallet.wallet} holds ${sol} SOL and needs ${neededSol} for fees; send it more`
}

function shortOf({ outgoingWallet, native }: PayoutsParts, held: bigint, needed: bigint): string {
  const amount = (units: bigint) => formatUnits(units, native.decimals)
  return `${outgoingWallet.wallet} holds ${amount(held)} NATIVE and needs ${amount(needed)}; send it more`
}

async function readHoldings({ outgoingWallet, native, meter }: PayoutsParts) {
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
  log.warn('payouts.waiting', facts)
}

function sumUp(lines: readonly PayoutLine[]): bigint {
  return lines.reduce((sum, { units }) => sum + units, 0n)
}
