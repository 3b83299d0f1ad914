/**
 * Pays on chain what is owed, many payees in one transaction, each accrual once.
 *
 * What a payout pays is reserved when it is planned, and its bytes are kept before they are sent (`dispatching.ts`): so this
 * may run in several processes, and be killed at any line.
 */
import type { Courier, Transfer } from '../core/courier.ts'
import type { Meter } from '../core/metrics.ts'
import { formatUnits } from '../core/money.ts'
import type { Dispatch, Dispatches, Owed, Payee, PayeeName, PayoutLine, Rewards } from '../core/money-out.ts'
import type { Mint } from '../core/network.ts'
import { solDecimals } from '../core/network.ts'
import type { PayoutTerms } from '../core/payouts.ts'
import { draftLine } from '../core/payouts.ts'
import type { Clock } from '../core/ports.ts'
import type { FrozenRates } from '../core/rates.ts'
import { convert, parseRate } from '../core/rates.ts'
import type { DispatchingParts, DispatchSigning, Errand } from './dispatching.ts'
import { advance, createDispatchId, dispatchMemo } from './dispatching.ts'
import type { Loop } from './loop.ts'
import { startLoop } from './loop.ts'
import type { Addresses } from './payees.ts'

export interface PayoutsParts extends DispatchingParts {
  readonly rewards: Rewards
  readonly dispatches: Dispatches
  readonly courier: Courier
  readonly addresses: Addresses
  readonly native: Mint
  /** What tokens are worth now; undefined while nobody knows. */
  readonly rates: () => FrozenRates | undefined
  readonly limits: PayoutLimits
  /** Nothing new is sent while this is so. What was sent is followed all the same. */
  readonly isPaused: () => Promise<boolean>
  readonly clock: Clock
  readonly meter: Meter
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

const followMs = 3_000
const dayMs = 86_400_000
const hourMs = 3_600_000
/** Transactions under way at the same time. */
const mostOpen = 16
const candidatesAtOnce = 256

/** What would be paid now, and to whom nothing, and why. */
export interface PayoutPreview {
  readonly lines: readonly PayoutLine[]
  readonly others: readonly (PayeeName & { readonly why: string })[]
  /** Why nobody can be paid; undefined where somebody can. */
  readonly why: string | undefined
}

/** What a worker knows of its own; another who knows nothing of it does no harm. */
interface Memory {
  /** Those whose payout failed among others: each is tried alone, so that one who cannot be paid holds up nobody. */
  readonly suspects: Set<string>
  /** Why nothing could be signed, as it was last told. */
  told: string
}

export function startPayouts(parts: PayoutsParts): Loop {
  const memory: Memory = { suspects: new Set(), told: '' }
  let planAt = 0
  const work = async (): Promise<void> => {
    const isPaused = await parts.isPaused()
    const open = await follow(parts, memory, isPaused)
    const now = parts.clock.now()
    if (isPaused || now < planAt) return
    if (await planAll(parts, memory, mostOpen - open)) planAt = now + parts.limits.everyMs
  }
  return startLoop({ name: 'payouts', everyMs: Math.min(followMs, parts.limits.everyMs), work, log: parts.log })
}

/** Takes the next step of all that is under way. Answers how many still are. */
async function follow(parts: PayoutsParts, memory: Memory, isPaused: boolean): Promise<number> {
  const open = (await parts.dispatches.open()).filter(({ kind }) => kind === 'payout')
  const left = await Promise.all(
    open.map(async (dispatch) => {
      if (isPaused && dispatch.state === 'planned') return true
      return step(parts, memory, dispatch)
    }),
  )
  const count = left.filter(Boolean).length
  parts.meter.set('paystile_dispatches_open', count, { kind: 'payout' })
  return count
}

/** True while it is under way. */
async function step(parts: PayoutsParts, memory: Memory, dispatch: Dispatch): Promise<boolean> {
  let blamed: number | undefined
  const errand: Errand = {
    sign: async (one) => {
      const signing = await sign(parts, one)
      if (signing.kind === 'impossible') blamed = signing.transfer
      return signing
    },
    mostAttempts: Number.POSITIVE_INFINITY,
  }
  const taken = await advance(dispatch, errand, parts)
  if (taken.kind === 'landed' || taken.kind === 'unsigned' || taken.kind === 'dropped')
    parts.meter.count('paystile_dispatches_total', { kind: 'payout', outcome: taken.kind })
  const why = taken.kind === 'waiting' && taken.dispatch.state === 'planned' ? taken.why : ''
  if (why !== '' && memory.told !== why) parts.log.warn('payouts wait', { why })
  memory.told = why
  if (taken.kind === 'dropped') await suspect(parts, memory, dispatch.id, { why: taken.why, blamed })
  return taken.kind === 'waiting' || taken.kind === 'unsigned'
}

/** Who is to blame is parked for a day. Where nobody is known to be, each is tried alone, and then not for a while. */
async function suspect(
  { dispatches, rewards, clock }: PayoutsParts,
  { suspects }: Memory,
  id: string,
  { why, blamed }: { readonly why: string; readonly blamed: number | undefined },
): Promise<void> {
  const lines = await dispatches.lines(id)
  const now = Math.floor(clock.now())
  for (const [index, line] of lines.entries()) {
    if (index === blamed) await rewards.park(line, why, now + dayMs)
    else if (blamed === undefined && lines.length > 1) suspects.add(keyOf(line))
    else if (blamed === undefined) await rewards.park(line, why, now + hourMs)
  }
}

async function sign(parts: PayoutsParts, { id }: Dispatch): Promise<DispatchSigning> {
  const lines = await parts.dispatches.lines(id)
  const shortage = await findShortage(parts, lines)
  if (shortage !== undefined) return { kind: 'unavailable', why: shortage }
  const transfers: Transfer[] = []
  for (const [index, line] of lines.entries()) {
    // The last accrual that a line settles is one of its payee's own.
    const [accrual] = await parts.rewards.accruals(line.upto - 1, 1)
    const finding = await parts.addresses.find(line, accrual?.tx ?? new Uint8Array(64))
    if (finding.kind === 'unavailable') return finding
    if (finding.kind === 'lost') return { kind: 'impossible', why: finding.why, transfer: index }
    transfers.push({ owner: finding.address, units: line.units, opens: line.opening > 0n })
  }
  return parts.courier.sign({ mint: parts.native, transfers, memo: dispatchMemo(id) })
}

/** What the wallet lacks to pay all this, in one sentence. */
async function findShortage(parts: PayoutsParts, lines: readonly PayoutLine[]): Promise<string | undefined> {
  const { courier, native, meter } = parts
  const holdings = await courier.holdings([native])
  if (!holdings) return 'no node tells what the wallet holds'
  const {
    lamports,
    units: [held = 0n],
  } = holdings
  meter.set('paystile_payout_lamports', Number(lamports))
  meter.set('paystile_payout_native', Number(formatUnits(held, native.decimals)))
  const needed = lines.reduce((sum, { units }) => sum + units, 0n)
  const openings = lines.filter(({ opening }) => opening > 0n).length
  const rent = openings === 0 ? 0n : ((await courier.openingCost(native)) ?? 0n) * BigInt(openings)
  const fees = rent + parts.limits.fee
  if (held >= needed && lamports >= fees) return undefined
  const why =
    held < needed
      ? `${courier.wallet} holds ${formatUnits(held, native.decimals)} NATIVE and needs ${formatUnits(needed, native.decimals)}`
      : `${courier.wallet} holds ${formatUnits(lamports, solDecimals)} SOL and needs ${formatUnits(fees, solDecimals)} for fees`
  return `${why}; send it there`
}

/** True when nobody is left to be paid now. */
async function planAll(parts: PayoutsParts, memory: Memory, room: number): Promise<boolean> {
  for (let left = room; left > 0; ) {
    const { lines, why } = await preview(parts, true)
    if (why !== undefined) {
      parts.log.warn('payouts wait', { why })
      return true
    }
    if (lines.length === 0) return true
    for (const batch of batchesOf(parts, memory.suspects, lines).slice(0, left)) {
      const planned = await plan(parts, memory, batch)
      if (planned === 'full') return true
      left -= 1
    }
  }
  return false
}

async function plan(
  parts: PayoutsParts,
  memory: Memory,
  lines: readonly PayoutLine[],
): Promise<'planned' | 'taken' | 'full'> {
  const { dispatches, limits, clock, log } = parts
  const since = Math.floor(clock.now()) - dayMs
  if (((await signedSince(dispatches, since)) + 1n) * limits.fee > limits.dailyFees) {
    log.warn('payouts wait', { why: 'the fees of 24 hours are spent', next: 'raise rewards.dailyFees or wait' })
    return 'full'
  }
  const cap = limits.dailyCap === undefined ? {} : { cap: { since, units: limits.dailyCap } }
  const planning = await dispatches.plan({ id: createDispatchId(), kind: 'payout', lane: '', about: '', lines, ...cap })
  if (planning.kind === 'capped') {
    log.warn('payouts wait', { why: 'the most for 24 hours is reached', next: 'raise rewards.dailyCap or wait' })
    return 'full'
  }
  if (planning.kind !== 'planned') return 'taken'
  for (const line of lines) memory.suspects.delete(keyOf(line))
  await step(parts, memory, planning.dispatch)
  return 'planned'
}

/** How often payouts were signed since they were planned then. */
async function signedSince(dispatches: Dispatches, since: number): Promise<bigint> {
  let count = 0n
  for (let after: Dispatch | undefined; ; ) {
    const page = await dispatches.list({ kind: 'payout', most: 500, ...(after && { after }) })
    const recent = page.filter(({ at }) => at >= since)
    count += recent.reduce((sum, { attempts }) => sum + BigInt(attempts), 0n)
    after = recent.at(-1)
    if (recent.length < 500) return count
  }
}

function batchesOf(
  { courier, native }: PayoutsParts,
  suspects: ReadonlySet<string>,
  lines: readonly PayoutLine[],
): readonly (readonly PayoutLine[])[] {
  const alone = lines.filter((line) => suspects.has(keyOf(line)))
  let rest = lines.filter((line) => !suspects.has(keyOf(line)))
  const batches: (readonly PayoutLine[])[] = alone.map((line) => [line])
  while (rest.length > 0) {
    // Their addresses are as long as any other.
    const transfers = rest.map(({ units, opening }) => ({ owner: courier.wallet, units, opens: opening > 0n }))
    const count = Math.max(1, courier.fit({ mint: native, transfers, memo: dispatchMemo(createDispatchId()) }))
    batches.push(rest.slice(0, count))
    rest = rest.slice(count)
  }
  return batches
}

/** What would be paid now. With `parks`, those who cannot be paid yet are not looked at again for a while. */
export async function preview(parts: PayoutsParts, parks: boolean): Promise<PayoutPreview> {
  const terms = await readTerms(parts)
  if (typeof terms === 'string') return { lines: [], others: [], why: terms }
  const due = await parts.rewards.due(terms.least, candidatesAtOnce)
  const found: { readonly payee: Payee; readonly owed: Owed; readonly address: string }[] = []
  const others: (PayeeName & { readonly why: string })[] = []
  const park = async (payee: Payee, why: string, forMs: number): Promise<void> => {
    others.push({ role: payee.role, payee: payee.payee, why })
    if (parks) await parts.rewards.park(payee, why, Math.floor(parts.clock.now()) + forMs)
  }
  for (const payee of due) {
    const owed = await parts.rewards.owed(payee)
    if (!owed) continue
    const finding = await parts.addresses.find(payee, owed.tx)
    if (finding.kind === 'found') found.push({ payee, owed, address: finding.address })
    else await park(payee, finding.why, finding.kind === 'lost' ? dayMs : hourMs)
  }
  const states = await parts.courier.accountsOf(
    found.map(({ address }) => address),
    parts.native,
  )
  if (!states) return { lines: [], others, why: 'no node tells of the token accounts' }
  const lines: PayoutLine[] = []
  for (const [index, { payee, owed }] of found.entries()) {
    const account = states[index]
    if (!account) continue
    const drafted = draftLine({ ...payee, owed, account }, terms)
    if (drafted.kind === 'line') lines.push(drafted.line)
    else await park(payee, drafted.why, drafted.kind === 'park' ? dayMs : hourMs)
  }
  return { lines, others, why: undefined }
}

/** In one sentence why there are none. */
async function readTerms({ rates, native, courier, limits }: PayoutsParts): Promise<PayoutTerms | string> {
  const now = rates()
  const rate = parseRate(now?.table.NATIVE ?? '')
  if (!now || rate === undefined) return 'there is no fresh rate of NATIVE'
  const lamports = await courier.openingCost(native)
  const sol = lamports === undefined ? undefined : { token: 'SOL' as const, units: lamports, decimals: solDecimals }
  const opening = sol && convert(sol, { token: 'NATIVE', decimals: native.decimals }, now.table)
  return { rate, least: limits.least, opening }
}

function keyOf({ role, payee }: PayeeName): string {
  return `${role} ${payee}`
}
