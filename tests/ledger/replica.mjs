// One of several processes on one ledger. Its clients ask about the same few payments at the same time, and it reports
// every call with its beginning and its end. `replica.mjs <ledger> <number of the process> <fault or none>`; then one message a round:
// { payments, clients, calls }, answered by a list of { payment, from, to, asked, told }.
import { createHash } from 'node:crypto'
import { openLedger } from '../../dist/ledger/open.js'
import { breakLedger, breakStatements } from './broken.mjs'

const [place = '', number, fault] = process.argv.slice(2)
if (fault !== 'none') breakStatements(fault)
// One clock for all processes of this machine, by which leases are judged and calls are timed.
const nanoseconds = () => Number(process.hrtime.bigint())
const clock = { now: () => nanoseconds() / 1e6, monotonic: () => nanoseconds() / 1e6 }
/** @type {import('../../dist/ledger/open.js').LedgerParts['identity']} */
const identity = { network: 'localnet', service: 'tests', fingerprint: 'fingerprint-1' }
const opened = await openLedger(place, { clock, identity })
const ledger = fault === 'none' ? opened : breakLedger(fault, opened)
const random = createRandom(Number(number))
const between = (low, high) => low + Math.floor(random() * (high - low + 1))
const chance = (probability) => random() < probability
const pick = (list) => list[between(0, list.length - 1)]

process.on('message', async ({ payments, clients, calls }) => {
  const stage = payments.map((payment) => ({
    ...payment,
    tx: txOf(payment.number),
    fences: [],
    reports: { isKnown: false, latest: 1, numbers: new Map() },
  }))
  const history = []
  const client = async () => {
    for (let call = 0; call < calls; call += 1) {
      const payment = pick(stage)
      const asked = choose(payment)
      const from = nanoseconds()
      const told = await ask(payment, asked).catch(thrown)
      history.push({ payment: payment.number, from, to: nanoseconds(), asked, told })
      if (told.kind === 'granted') payment.fences.push(told.fence)
      if (told.kind === 'granted' && asked.slices) payment.reports.latest = told.fence
      if (told.kind !== 'unknown') payment.reports.isKnown = true
      if (told.kind === 'reported') payment.reports.numbers.set(asked.fence, (asked.number ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  process.send?.(history)
})
process.once('disconnect', () => process.exit(0))
process.send?.('ready')

/** What to ask next. Mostly about a grant that this process was given, and now and then about one that it guesses. */
function choose({ fences, lasting, unit, amount: bought, reports }) {
  const leaseMs = lasting ? 600_000 : between(1, 15)
  const dice = random()
  if (dice < 0.4) {
    const request = chance(0.1) ? 'request-2' : 'request-1'
    // Only a registered payment has slices.
    if (bought >= 32 && reports.isKnown && chance(0.7))
      return { act: 'take', request, registers: false, amount: 1, slices: true, leaseMs: leaseMs * 8 }
    return { act: 'take', request, registers: chance(0.7), amount: between(1, 3), leaseMs }
  }
  if (dice < 0.6) return { act: 'peek' }
  const latest = fences.at(-1) ?? 0
  const fence = chance(0.5) ? Math.max(latest, 1) : chance(0.8) ? latest + between(1, 3) : between(1, latest + 1)
  if (dice < 0.7) return { act: 'renew', fence, leaseMs }
  if (bought >= 32 && dice < 0.95) {
    const slice = chance(0.9) ? reports.latest : fence
    // Now and then the last report is said again.
    const number = Math.max(1, (reports.numbers.get(slice) ?? 1) - (chance(0.2) ? 1 : 0))
    const [delivered, partial, noBody] = [between(0, 2), between(0, 1), between(0, 1)]
    return { act: 'report', fence: slice, number, delivered, partial, noBody, keeps: between(0, 2), fills: chance(0.6) }
  }
  if (unit === 'byte' && dice < 0.85) return { act: 'advance', fence, used: between(0, 4), more: between(0, 3) }
  const outcome = pick(['not_started', 'not_started', 'not_started', 'no_body', 'no_body', 'partial', 'delivered'])
  return { act: 'end', fence, outcome, used: between(0, 2) }
}

async function ask({ tx, unit, amount }, asked) {
  switch (asked.act) {
    case 'take': {
      const { request, registers, leaseMs } = asked
      const payment = registers && recordOf(tx, request, { unit, amount: BigInt(amount) })
      const isSlice = asked.slices === true
      const order = { tx, request, amount: BigInt(asked.amount), leaseMs, isSlice, ...(payment && { payment }) }
      const taken = await ledger.take(order)
      if (taken.kind !== 'granted') return { kind: taken.kind }
      const { grant, remaining } = taken
      return {
        kind: 'granted',
        fence: Number(grant.fence),
        amount: Number(grant.amount),
        remaining: Number(remaining),
      }
    }
    case 'peek': {
      const standing = await ledger.peek(tx)
      if (!standing) return { kind: 'unknown' }
      const { request, state, remaining } = standing
      return { kind: 'standing', request, state, remaining: Number(remaining) }
    }
    case 'renew':
      return {
        kind: 'done',
        held: await ledger.renew({ tx, fence: BigInt(asked.fence), amount: 1n, from: 0n }, asked.leaseMs),
      }
    case 'advance': {
      const grant = { tx, fence: BigInt(asked.fence), amount: 1n, from: 0n }
      const amount = await ledger.advance(grant, BigInt(asked.used), BigInt(asked.more))
      return amount === undefined ? { kind: 'done', held: false } : { kind: 'advanced', amount: Number(amount) }
    }
    case 'report': {
      const { fence, number, delivered, partial, noBody, keeps } = asked
      const counts = { delivered: BigInt(delivered), partial: BigInt(partial), noBody: BigInt(noBody) }
      const report = { number: BigInt(number), ...counts, keeps: BigInt(keeps), fills: asked.fills }
      const state = await ledger.reportSlice({ tx, fence: BigInt(fence), amount: 1n, from: 1n }, report)
      if (!state) return { kind: 'done', held: false }
      const { held, remaining, isOpen } = state
      return { kind: 'reported', amount: Number(held), remaining: Number(remaining), isOpen }
    }
    case 'end': {
      const grant = { tx, fence: BigInt(asked.fence), amount: 1n, from: 0n }
      return { kind: 'done', held: await ledger.end(grant, asked.outcome, BigInt(asked.used)) }
    }
    default:
      throw new Error(`there is no act "${asked.act}"`)
  }
}

/** @returns {any} */
function thrown(error) {
  return { kind: 'thrown', error: String(error) }
}

function recordOf(tx, request, allowance) {
  return {
    tx,
    request,
    payer: 'payer-1',
    scope: 'GET /api/data',
    recipient: 'recipient-1',
    token: 'USDC',
    required: 1n,
    received: 1n,
    allowance,
    slot: 1,
    paidAt: 0,
    usableUntil: Number.MAX_SAFE_INTEGER,
    finality: 'confirmed',
    endpoint: '/api/data',
    worth: 1n,
    rates: undefined,
  }
}

function txOf(payment) {
  return new Uint8Array(createHash('sha512').update(String(payment)).digest())
}

/** mulberry32 */
function createRandom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
