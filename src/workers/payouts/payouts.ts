/**
 * Pays the amounts owed on chain, with many payees per transaction, and each accrual once.
 *
 * A payout reserves its accruals when it is planned, and its bytes are stored before they are sent
 * (`outgoing-transactions.ts`). The worker can therefore run in several processes and crash at any line.
 */
import { mapLimit } from '../../core/collections/map-limit.ts'
import { formatMemo } from '../../core/payouts/outgoing-memo.ts'
import type { OutgoingTransfer } from '../../core/payouts/outgoing-wallet.ts'
import type { OutgoingTransaction, PayoutLine } from '../../core/payouts/ports/outgoing.ts'
import type { PayeeName } from '../../core/payouts/ports/rewards.ts'
import { type Loop, startLoop } from '../loop.ts'
import { createThrottledLog } from '../throttled-log.ts'
import type { Memory, PayoutsParts } from './limits.ts'
import { areFeesSpent, capReached, emit, feesSpent, findShortage, limit, readBudget } from './limits.ts'
import type { OutgoingTransactionPlan, SigningResult } from './outgoing-transactions.ts'
import { advance, alone, createTransactionId, readOpen } from './outgoing-transactions.ts'
import { signUnlessPaused } from './pause.ts'
import { createPayment } from './payees.ts'
import { askedAtOnce, dayMs, hourMs, minuteMs, preview, splitIntoBatches } from './plan.ts'

const followMs = 1_000
/** The maximum number of concurrent transactions. */
const mostOpen = 128
/**
 * Failures on chain, each at the cost of a fee, although the simulation succeeded. After this many, a payee of the
 * batch must be the cause.
 */
const mostFailures = 5

export function startPayouts(given: PayoutsParts): Loop {
  const { limits, clock, log, outgoingWallet, isPaused } = given
  // Payouts can be paused in the middle of a turn, and a long turn signs a hundred transactions.
  const sign: typeof outgoingWallet.sign = (order) => signUnlessPaused(isPaused, () => outgoingWallet.sign(order))
  const parts: PayoutsParts = {
    ...given,
    outgoingWallet: { ...outgoingWallet, sign },
    log: createThrottledLog(log, clock),
  }
  const memory: Memory = { suspects: new Set() }
  let planAt = 0
  const work = async (): Promise<void> => {
    const isStopped = await isPaused()
    const open = await follow(parts, memory, isStopped)
    const now = clock.now()
    if (isStopped || now < planAt) return
    const planned = await planAll(parts, memory, mostOpen - open)
    if (planned === 'all') planAt = now + limits.everyMs
    if (planned === 'later') planAt = now + Math.min(minuteMs, limits.everyMs)
  }
  const everyMs = Math.min(followMs, limits.everyMs)
  return startLoop({ name: 'payouts', everyMs, work, log, leads: given.leads, clockCheck: given.clockCheck })
}

/** Takes the next step of all open transactions. Returns the number that remain open. */
async function follow(parts: PayoutsParts, memory: Memory, isPaused: boolean): Promise<number> {
  const open = await readOpen('payout', parts)
  const left = await mapLimit(open, askedAtOnce, async (transaction) => {
    const { id, kind, state } = transaction
    if (isPaused && state === 'planned') return true
    return (await alone(parts.log, { kind, id }, () => step(parts, memory, transaction))) ?? true
  })
  return left.filter(Boolean).length
}

/** True while it is open. */
async function step(parts: PayoutsParts, memory: Memory, transaction: OutgoingTransaction): Promise<boolean> {
  let blamed: number | undefined
  const plan: OutgoingTransactionPlan = {
    sign: async (one) => {
      const signing = await sign(parts, one)
      if (signing.kind === 'impossible') blamed = signing.transfer
      return signing
    },
    mostAttempts: Number.POSITIVE_INFINITY,
    mostFailures,
    budget: readBudget(parts),
  }
  const taken = await advance(transaction, plan, parts)
  if (taken.kind === 'waiting' && taken.transaction.state === 'planned') emit(parts, { why: taken.why })
  if (taken.kind === 'dropped') {
    const pauseMs = taken.transaction.failures < mostFailures ? hourMs : dayMs
    await suspect(parts, memory, transaction.id, { why: taken.why, blamed, pauseMs })
  }
  return taken.kind === 'waiting' || taken.kind === 'unsigned'
}

/**
 * Parks the payee that caused the failure for a day. If the cause is unknown, each payee is tried alone, and later
 * parked for a while.
 */
async function suspect(
  { outgoing, rewards, clock }: PayoutsParts,
  { suspects }: Memory,
  id: string,
  { why, blamed, pauseMs }: { readonly why: string; readonly blamed: number | undefined; readonly pauseMs: number },
): Promise<void> {
  const lines = await outgoing.lines(id)
  const now = Math.floor(clock.now())
  for (const [index, line] of lines.entries()) {
    if (index === blamed) await rewards.park(line, why, now + dayMs)
    else if (blamed === undefined && lines.length > 1) suspects.add(createKey(line))
    else if (blamed === undefined) await rewards.park(line, why, now + pauseMs)
  }
}

async function sign(parts: PayoutsParts, { id, attempts }: OutgoingTransaction): Promise<SigningResult> {
  // Checked also before the first signature, because other transactions may have used the budget since the plan.
  if (await areFeesSpent(parts, 1)) return { kind: 'unavailable', why: feesSpent.why }
  const lines = await parts.outgoing.lines(id)
  const shortage = await findShortage(parts, lines)
  if (shortage !== undefined) return { kind: 'unavailable', why: shortage }
  const transfers: OutgoingTransfer[] = []
  for (const [index, line] of lines.entries()) {
    const finding = await parts.addresses.find(line, () => createPayment(parts.rewards, line))
    if (finding.kind === 'unavailable') return finding
    if (finding.kind === 'lost') return { kind: 'impossible', why: finding.why, transfer: index }
    transfers.push({ owner: finding.address, units: line.units, opens: line.opening > 0n })
  }
  return parts.outgoingWallet.sign({ mint: parts.native, transfers, memo: formatMemo(id), attempts })
}

/** `all`: no payee is left to pay now. `later`: payees are left, but a condition must change first. */
type Planned = 'all' | 'more' | 'later'

async function planAll(parts: PayoutsParts, memory: Memory, room: number): Promise<Planned> {
  for (let left = room; left > 0; ) {
    const { lines, isAll, why } = await preview(parts, true)
    if (why !== undefined) {
      emit(parts, { why })
      return 'later'
    }
    if (lines.length === 0 && isAll) return 'all'
    const payable = lines.length === 0 ? [] : await limit(parts, lines)
    if (payable.length === 0 && lines.length > 0) return 'later'
    const isSuspect = (line: PayoutLine) => memory.suspects.has(createKey(line))
    const batches = splitIntoBatches(parts, { lines: payable, isAll }, isSuspect).slice(0, left)
    const { planned, isFull } = await planBatches(parts, memory, batches)
    await mapLimit(planned, askedAtOnce, (transaction) => step(parts, memory, transaction))
    if (isFull) return 'later'
    left -= batches.length
  }
  return 'more'
}

/** Reserves as many batches as possible. `isFull` if no more are allowed. */
async function planBatches(parts: PayoutsParts, memory: Memory, batches: readonly (readonly PayoutLine[])[]) {
  const { outgoing, limits, clock } = parts
  const since = Math.floor(clock.now()) - dayMs
  const cap = limits.dailyCap === undefined ? {} : { cap: { since, units: limits.dailyCap } }
  const planned: OutgoingTransaction[] = []
  for (const lines of batches) {
    if (await parts.isPaused()) return { planned, isFull: true }
    const isSpent = await areFeesSpent(parts, planned.length + 1)
    const order = {
      id: createTransactionId(parts.sealer, 'payout'),
      kind: 'payout',
      lockKey: '',
      about: '',
      lines,
      ...cap,
    } as const
    const planning = isSpent ? undefined : await outgoing.plan(order)
    if (!planning || planning.kind === 'capped') {
      emit(parts, planning ? capReached : feesSpent)
      return { planned, isFull: true }
    }
    // Another worker was faster and pays them.
    if (planning.kind !== 'planned') continue
    for (const line of lines) memory.suspects.delete(createKey(line))
    planned.push(planning.transaction)
  }
  return { planned, isFull: false }
}

function createKey({ role, payee }: PayeeName): string {
  return `${role} ${payee}`
}
