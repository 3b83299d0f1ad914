/**
 * Pays on chain what is owed, many payees in one transaction, each accrual once.
 *
 * What a payout pays is reserved when it is planned, and its bytes are kept before they are sent (`dispatching.ts`): so this
 * may run in several processes, and be killed at any line.
 */
import { mapAtOnce } from '../core/at-once.ts'
import type { Courier, Transfer } from '../core/courier.ts'
import type { Meter } from '../core/metrics.ts'
import { formatUnits } from '../core/money.ts'
import type { Dispatch, Dispatches, PayeeName, PayoutLine } from '../core/money-out.ts'
import { solDecimals } from '../core/network.ts'
import { LedgerUnavailable } from '../core/ports.ts'
import type { DispatchingParts, DispatchSigning, Errand } from './dispatching.ts'
import { advance, concludeLanded, createDispatchId, dispatchMemo } from './dispatching.ts'
import type { Loop } from './loop.ts'
import { startLoop } from './loop.ts'
import { paymentOf } from './payees.ts'
import type { PayoutPlanParts } from './payout-plan.ts'
import { askedAtOnce, batchesOf, dayMs, hourMs, minuteMs, preview, within } from './payout-plan.ts'

export interface PayoutsParts extends DispatchingParts, PayoutPlanParts {
  readonly dispatches: Dispatches
  readonly courier: Courier
  readonly limits: PayoutLimits
  /** Nothing new is sent while this is so. What was sent is followed all the same. */
  readonly isPaused: () => Promise<boolean>
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

const followMs = 1_000
/** Transactions under way at the same time. */
const mostOpen = 128

/** What a worker knows of its own; another who knows nothing of it does no harm. */
interface Memory {
  /** Those whose payout failed among others: each is tried alone, so that one who cannot be paid holds up nobody. */
  readonly suspects: Set<string>
  /** Why nothing could be paid, and when that was last said. */
  readonly told: Map<string, number>
}

export function startPayouts(parts: PayoutsParts): Loop {
  const { limits, clock, log } = parts
  const memory: Memory = { suspects: new Set(), told: new Map() }
  let planAt = 0
  const work = async (): Promise<void> => {
    const isPaused = await parts.isPaused()
    const open = await follow(parts, memory, isPaused)
    const now = clock.now()
    if (isPaused || now < planAt) return
    const planned = await planAll(parts, memory, mostOpen - open)
    if (planned === 'all') planAt = now + limits.everyMs
    if (planned === 'later') planAt = now + Math.min(minuteMs, limits.everyMs)
  }
  return startLoop({ name: 'payouts', everyMs: Math.min(followMs, limits.everyMs), work, log })
}

/** Takes the next step of all that is under way. Answers how many still are. */
async function follow(parts: PayoutsParts, memory: Memory, isPaused: boolean): Promise<number> {
  const open = (await parts.dispatches.open()).filter(({ kind }) => kind === 'payout')
  const left = await mapAtOnce(open, askedAtOnce, async (dispatch) => {
    if (isPaused && dispatch.state === 'planned') return true
    try {
      return await step(parts, memory, dispatch)
    } catch (error) {
      if (error instanceof LedgerUnavailable) throw error
      // One that cannot be read must not hold up the others.
      parts.log.error('payout failed', { id: dispatch.id, why: error instanceof Error ? error.message : String(error) })
      return true
    }
  })
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
    conclude: (one) => concludeLanded(parts.courier, one),
    mostAttempts: Number.POSITIVE_INFINITY,
  }
  const taken = await advance(dispatch, errand, parts)
  if (taken.kind === 'landed' || taken.kind === 'unsigned' || taken.kind === 'dropped')
    parts.meter.count('paystile_dispatches_total', { kind: 'payout', outcome: taken.kind })
  if (taken.kind === 'waiting' && taken.dispatch.state === 'planned') tell(parts, memory, { why: taken.why })
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
    const finding = await parts.addresses.find(line, () => paymentOf(parts.rewards, line))
    if (finding.kind === 'unavailable') return finding
    if (finding.kind === 'lost') return { kind: 'impossible', why: finding.why, transfer: index }
    transfers.push({ owner: finding.address, units: line.units, opens: line.opening > 0n })
  }
  return parts.courier.sign({ mint: parts.native, transfers, memo: dispatchMemo(id) })
}

/** What the wallet lacks to pay all this, in one sentence. */
async function findShortage(parts: PayoutsParts, lines: readonly PayoutLine[]): Promise<string | undefined> {
  const { courier, native, limits } = parts
  const held = await readHoldings(parts)
  if (!held) return 'no node tells what the wallet holds'
  const needed = sumOf(lines)
  if (held.units < needed) return shortOf(parts, held.units, needed)
  const openings = lines.filter(({ opening }) => opening > 0n).length
  const rent = openings === 0 ? 0n : ((await courier.openingCost(native)) ?? 0n) * BigInt(openings)
  const fees = rent + limits.fee
  if (held.lamports >= fees) return undefined
  const [sol, neededSol] = [formatUnits(held.lamports, solDecimals), formatUnits(fees, solDecimals)]
  return `${courier.wallet} holds ${sol} SOL and needs ${neededSol} for fees; send it there`
}

function shortOf({ courier, native }: PayoutsParts, held: bigint, needed: bigint): string {
  const amount = (units: bigint) => formatUnits(units, native.decimals)
  return `${courier.wallet} holds ${amount(held)} NATIVE and needs ${amount(needed)}; send it there`
}

async function readHoldings({
  courier,
  native,
  meter,
}: PayoutsParts): Promise<{ readonly lamports: bigint; readonly units: bigint } | undefined> {
  const holdings = await courier.holdings([native])
  if (!holdings) return undefined
  const {
    lamports,
    units: [units = 0n],
  } = holdings
  meter.set('paystile_payout_lamports', Number(lamports))
  meter.set('paystile_payout_native', Number(formatUnits(units, native.decimals)))
  return { lamports, units }
}

/** `all`: nobody is left to be paid now. `later`: somebody is, and something has to change first. */
type Planned = 'all' | 'more' | 'later'

async function planAll(parts: PayoutsParts, memory: Memory, room: number): Promise<Planned> {
  for (let left = room; left > 0; ) {
    const { lines, isAll, why } = await preview(parts, true)
    if (why !== undefined) {
      tell(parts, memory, { why })
      return 'later'
    }
    if (lines.length === 0 && isAll) return 'all'
    const payable = lines.length === 0 ? [] : await limit(parts, memory, lines)
    if (payable.length === 0 && lines.length > 0) return 'later'
    const isSuspect = (line: PayoutLine) => memory.suspects.has(keyOf(line))
    const batches = batchesOf(parts, { lines: payable, isAll }, isSuspect).slice(0, left)
    const { dispatches, isFull } = await planBatches(parts, memory, batches)
    await mapAtOnce(dispatches, askedAtOnce, (dispatch) => step(parts, memory, dispatch))
    if (isFull) return 'later'
    left -= batches.length
  }
  return 'more'
}

/** Those who can be paid by what may be sent today, and by what the wallet holds beyond what is reserved. */
async function limit(
  parts: PayoutsParts,
  memory: Memory,
  lines: readonly PayoutLine[],
): Promise<readonly PayoutLine[]> {
  const { dispatches, rewards, limits, clock } = parts
  let payable = lines
  if (limits.dailyCap !== undefined) {
    payable = within(payable, limits.dailyCap - (await dispatches.planned(Math.floor(clock.now()) - dayMs)))
    if (payable.length < lines.length) tell(parts, memory, capReached)
  }
  const held = await readHoldings(parts)
  if (!held) return payable
  const reserved = (await rewards.sums()).reduce((sum, one) => sum + one.reserved, 0n)
  const needed = reserved + sumOf(payable)
  if (held.units < needed) tell(parts, memory, { why: shortOf(parts, held.units, needed) })
  return within(payable, held.units - reserved)
}

const capReached = { why: 'the most for 24 hours is reached', next: 'raise rewards.dailyCap or wait' }
const feesSpent = { why: 'the fees of 24 hours are spent', next: 'raise rewards.dailyFees or wait' }

/** Reserves what can be; `isFull` when no more may be. */
async function planBatches(
  parts: PayoutsParts,
  memory: Memory,
  batches: readonly (readonly PayoutLine[])[],
): Promise<{ readonly dispatches: readonly Dispatch[]; readonly isFull: boolean }> {
  const { dispatches, limits, clock } = parts
  const since = Math.floor(clock.now()) - dayMs
  const cap = limits.dailyCap === undefined ? {} : { cap: { since, units: limits.dailyCap } }
  const planned: Dispatch[] = []
  let signings = await signedSince(dispatches, since)
  for (const lines of batches) {
    signings += 1n
    const isSpent = signings * limits.fee > limits.dailyFees
    const order = { id: createDispatchId(), kind: 'payout', lane: '', about: '', lines, ...cap } as const
    const planning = isSpent ? undefined : await dispatches.plan(order)
    if (!planning || planning.kind === 'capped') {
      tell(parts, memory, planning ? capReached : feesSpent)
      return { dispatches: planned, isFull: true }
    }
    // Somebody else was faster, and pays them.
    if (planning.kind !== 'planned') continue
    for (const line of lines) memory.suspects.delete(keyOf(line))
    planned.push(planning.dispatch)
  }
  return { dispatches: planned, isFull: false }
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

const mostTold = 100

/** Once in an hour for the same reason. */
function tell(
  { log, clock }: PayoutsParts,
  { told }: Memory,
  facts: { readonly why: string; readonly next?: string },
): void {
  const now = clock.now()
  if (now - (told.get(facts.why) ?? Number.NEGATIVE_INFINITY) < hourMs) return
  if (told.size >= mostTold) told.clear()
  told.set(facts.why, now)
  log.warn('payouts wait', facts)
}

function sumOf(lines: readonly PayoutLine[]): bigint {
  return lines.reduce((sum, { units }) => sum + units, 0n)
}

function keyOf({ role, payee }: PayeeName): string {
  return `${role} ${payee}`
}
