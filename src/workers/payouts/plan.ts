/** Plans the next payouts: due payees become lines, and lines become batches of one transaction each. */
import { mapLimit } from '../../core/collections/map-limit.ts'
import { maxUnits } from '../../core/money/money.ts'
import { convert, type FrozenRates, parseRate } from '../../core/money/rates.ts'
import { type Mint, solDecimals } from '../../core/money/tokens.ts'
import { formatMemo } from '../../core/payouts/outgoing-memo.ts'
import type { OutgoingWallet } from '../../core/payouts/outgoing-wallet.ts'
import { draftLine, type PayoutTerms } from '../../core/payouts/payout-lines.ts'
import type { PayoutLine } from '../../core/payouts/ports/outgoing.ts'
import type { Owed, Payee, PayeeName, Rewards } from '../../core/payouts/ports/rewards.ts'
import type { Clock } from '../../core/runtime.ts'
import { createTransactionId } from './outgoing-transactions.ts'
import type { Addresses, Finding } from './payees.ts'

export interface PayoutPlanParts {
  readonly rewards: Rewards
  readonly outgoingWallet: Pick<OutgoingWallet, 'wallet' | 'readAccounts' | 'openingCost' | 'fit'>
  readonly addresses: Addresses
  readonly native: Mint
  /** The current rates. Undefined while they are unknown. */
  readonly rates: () => FrozenRates | undefined
  /** The minimum per payee. */
  readonly limits: { readonly least: bigint }
  readonly clock: Clock
}

/** The payouts that would be made now, and the payees that would get none, with the reason. */
export interface PayoutPreview {
  readonly lines: readonly PayoutLine[]
  readonly others: readonly (PayeeName & { readonly why: string })[]
  /** The reason why no payee can be paid. Undefined if one can. */
  readonly why: string | undefined
  /** False if more payees are due than were checked. */
  readonly isAll: boolean
}

export const dayMs = 86_400_000
export const hourMs = 3_600_000
export const minuteMs = 60_000
/**
 * The delay before a payee is checked again that only has to open an account or earn a little more. The check is cheap:
 * a hundred accounts take one request.
 */
const waitMs = 5 * minuteMs
/** The maximum number of concurrent requests to nodes. */
export const askedAtOnce = 16
const mostCandidates = 1_024

interface Candidate {
  readonly payee: Payee
  readonly owed: Owed
  readonly finding: Finding
}

/**
 * Computes the payouts that would be made now. With `parks`, payees that cannot be paid yet are skipped for a while.
 */
export async function preview(parts: PayoutPlanParts, parks: boolean): Promise<PayoutPreview> {
  const terms = await readTerms(parts)
  if (typeof terms === 'string') return { lines: [], others: [], why: terms, isAll: true }
  const { rewards, outgoingWallet, native, clock } = parts
  const due = await rewards.due(terms.least, mostCandidates)
  const isAll = due.length < mostCandidates
  const others: (PayeeName & { readonly why: string })[] = []
  const park = async (payee: Payee, why: string, forMs: number): Promise<void> => {
    others.push({ role: payee.role, payee: payee.payee, why })
    if (parks) await rewards.park(payee, why, Math.floor(clock.now()) + forMs)
  }
  const found: { readonly payee: Payee; readonly owed: Owed; readonly address: string }[] = []
  for (const { payee, owed, finding } of await findAll(parts, due)) {
    if (finding.kind === 'found') found.push({ payee, owed, address: finding.address })
    else await park(payee, finding.why, finding.kind === 'lost' ? dayMs : minuteMs)
  }
  const owners = found.map(({ address }) => address)
  const states = await outgoingWallet.readAccounts(owners, native)
  if (!states) return { lines: [], others, why: 'no node returned the token accounts', isAll }
  const lines: PayoutLine[] = []
  for (const [index, { payee, owed }] of found.entries()) {
    const account = states[index]
    if (!account) continue
    const drafted = draftLine({ ...payee, owed, account }, terms)
    if (drafted.kind === 'line') lines.push(drafted.line)
    else await park(payee, drafted.why, drafted.kind === 'park' ? dayMs : waitMs)
  }
  return { lines, others, why: undefined, isAll }
}

async function findAll({ rewards, addresses }: PayoutPlanParts, due: readonly Payee[]): Promise<readonly Candidate[]> {
  const candidates = await mapLimit(due, askedAtOnce, async (payee): Promise<Candidate | undefined> => {
    // The maximum of one transfer.
    const owed = await rewards.owed(payee, payee.owed > maxUnits ? maxUnits : undefined)
    return owed && { payee, owed, finding: await addresses.find(payee, async () => owed.tx) }
  })
  return candidates.filter((one) => one !== undefined)
}

/** The terms of payouts, or one sentence why there are none. */
export async function readTerms({
  rates,
  native,
  outgoingWallet,
  limits,
}: PayoutPlanParts): Promise<PayoutTerms | string> {
  const now = rates()
  const rate = parseRate(now?.table.NATIVE ?? '')
  if (!now || rate === undefined) return 'no current rate of NATIVE is available'
  const lamports = await outgoingWallet.openingCost(native)
  const sol = lamports === undefined ? undefined : { token: 'SOL' as const, units: lamports, decimals: solDecimals }
  const opening = sol && convert(sol, { token: 'NATIVE', decimals: native.decimals }, now.table)
  return { rate, least: limits.least, opening }
}

/**
 * Uses as few transactions as possible, and one for each suspect. If more payees follow, the last, incomplete batch
 * waits for them.
 */
export function splitIntoBatches(
  { outgoingWallet, native }: Pick<PayoutPlanParts, 'outgoingWallet' | 'native'>,
  { lines, isAll }: Pick<PayoutPreview, 'lines' | 'isAll'>,
  isSuspect: (line: PayoutLine) => boolean,
): readonly (readonly PayoutLine[])[] {
  // All ids have the same length.
  const memo = formatMemo(createTransactionId({ tag: 'x'.repeat(8) }, 'payout'))
  const batches: (readonly PayoutLine[])[] = lines.filter(isSuspect).map((line) => [line])
  for (let rest = lines.filter((line) => !isSuspect(line)); rest.length > 0; ) {
    // All addresses have the same length, so the wallet's own stands in for the payees'.
    const transfers = rest.map(({ units, opening }) => ({ owner: outgoingWallet.wallet, units, opens: opening > 0n }))
    const count = Math.max(1, outgoingWallet.fit({ mint: native, transfers, memo }))
    if (count >= rest.length && !isAll && batches.length > 0) break
    batches.push(rest.slice(0, count))
    rest = rest.slice(count)
  }
  return batches
}
