/**
 * The claim protocol, played out: servers with the product's own passes, a store behind a bad network, clients that race,
 * leave and come back, and deaths, pauses and outages in between. Afterwards the story is judged from outside.
 */
import { createHash } from 'node:crypto'
import { createInFlight } from '../../src/core/collections/in-flight.ts'
import type { Grant, Ledger, PaymentRecord } from '../../src/core/ports/ledger.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import type { Clock } from '../../src/core/runtime.ts'
import { nativeOnly } from '../../src/dialects/join.ts'
import type { Claim } from '../../src/paywall/claim/verify-on-chain.ts'
import { openDelivery } from '../../src/paywall/delivery/delivery.ts'
import { createResourceTypes } from '../../src/paywall/quote/resource-types.ts'
import { createTokenRegistry } from '../../src/paywall/runtime/token-registry.ts'
import type { Process, Schedule } from './schedule.ts'
import { createProcess, createSchedule } from './schedule.ts'
import type { CreateStore } from './stores.ts'

export interface Story {
  /** What must not have happened, in words. */
  readonly violations: readonly string[]
  readonly grants: number
  readonly deaths: number
  readonly served: number
}

const leaseMs = 2_000
const chaosMs = 8_000
const endMs = 60_000
const most = { servers: 3, payments: 3, chunks: 6 }

/** A grant as the outside sees it. */
interface Delivery {
  readonly payment: string
  readonly grantedAt: number
  readonly writes: number[]
  settledAt?: number
}

interface Server {
  process: Process
  ledger: Ledger
}

interface SimulationFixture {
  readonly schedule: Schedule
  readonly store: Ledger
  readonly deliveries: Map<Grant, Delivery>
  storeDownUntil: number
  /** While true, anything may fail. */
  chaos: boolean
}

/** Plays one story and judges it. Global timers must be those of the schedule meanwhile. */
export async function play(
  seed: number,
  createStore: CreateStore,
  install: (schedule: Schedule) => void,
): Promise<Story> {
  const schedule = createSchedule(seed)
  install(schedule)
  const fixture: SimulationFixture = {
    schedule,
    store: createStore(schedule),
    deliveries: new Map(),
    storeDownUntil: 0,
    chaos: true,
  }
  const servers = Array.from({ length: schedule.between(1, most.servers) }, (_, index) =>
    newServer(fixture, `server ${index}`),
  )
  const payments = Array.from({ length: schedule.between(1, most.payments) }, (_, index) => newPayment(seed, index))
  let deaths = 0
  const disturb = async (): Promise<void> => {
    while (schedule.now() < chaosMs) {
      await schedule.sleep(schedule.between(50, 1_500))
      const server = servers[schedule.between(0, servers.length - 1)] as Server
      if (schedule.chance(0.4)) {
        deaths += 1
        server.process.kill()
        Object.assign(server, newServer(fixture, server.process.name))
      } else if (schedule.chance(0.5)) server.process.pausedUntil = schedule.now() + schedule.between(100, 5_000)
      else fixture.storeDownUntil = schedule.now() + schedule.between(10, 1_500)
    }
    fixture.chaos = false
  }
  void disturb()
  const clients = payments.map((payment) => ({ payment, hasAll: false, partial: 0 }))
  for (const client of clients)
    for (let line = schedule.between(1, 3); line > 0; line -= 1) void visit(fixture, servers, client)
  await schedule.run(endMs)
  return {
    violations: [...judge([...fixture.deliveries.values()]), ...clients.flatMap(missing)],
    grants: fixture.deliveries.size,
    deaths,
    served: clients.filter(({ hasAll }) => hasAll).length,
  }
}

interface Client {
  readonly payment: PaymentRecord
  hasAll: boolean
  /** Deliveries it broke off itself. */
  partial: number
}

/** One of the client's tries after the other, until it has everything. Several may run at once. */
async function visit(fixture: SimulationFixture, servers: readonly Server[], client: Client): Promise<void> {
  const { schedule } = fixture
  await schedule.sleep(schedule.between(0, 800))
  while (!client.hasAll) {
    const server = servers[schedule.between(0, servers.length - 1)] as Server
    const { process } = server
    const answer = await Promise.race([schedule.as(process, () => serve(fixture, server, client)), process.death])
    if (answer === 'used') return
    await schedule.sleep(schedule.between(20, 700))
  }
}

/** What a server does with a proof whose payment is verified. */
async function serve(fixture: SimulationFixture, { ledger }: Server, client: Client): Promise<'used' | 'again'> {
  const { schedule, deliveries } = fixture
  const clock: Clock = { now: schedule.now, monotonic: schedule.now }
  const { tx, request, token, received, payer, allowance, usableUntil } = client.payment
  try {
    const state = (await ledger.peek(tx))?.state
    if (state === 'spent') return 'used'
    if (state === 'busy') return 'again'
    const takenAt = clock.monotonic()
    const taken = await ledger.take({ tx, request, payment: client.payment, amount: 1n, leaseMs })
    if (taken.kind !== 'granted') return taken.kind === 'spent' ? 'used' : 'again'
    const { grant, remaining } = taken
    const payment = { token, received, passedOn: 0n, payer, allowance, usableUntil, request, isRepeatable: false }
    const admission = { kind: 'admitted', grant, takenAt, remaining, ...payment, first: true } as const
    const pass = openDelivery(claimOn(ledger, clock), admission)
    if (fixture.chaos && schedule.chance(0.1)) {
      pass.end('failed', 0)
      return 'again'
    }
    pass.begin({ status: 200, length: undefined, contentRange: undefined, type: undefined })
    const chunks = schedule.between(1, most.chunks)
    for (let sent = 0; sent < chunks; sent += 1) {
      if (!pass.isAlive()) {
        pass.end('aborted', sent)
        return 'again'
      }
      deliveries.get(grant)?.writes.push(schedule.now())
      if (client.partial < 2 && fixture.chaos && schedule.chance(0.05)) {
        client.partial += 1
        pass.end('aborted', sent + 1)
        return 'again'
      }
      await schedule.sleep(schedule.between(0, 900))
    }
    if (!pass.isAlive()) {
      pass.end('aborted', chunks)
      return 'again'
    }
    client.hasAll = true
    pass.end('finished', chunks)
    return 'again'
  } catch (error) {
    if (error instanceof LedgerUnavailable) return 'again'
    throw error
  }
}

/** A request at a route of a server, as far as a delivery needs it. */
function claimOn(ledger: Ledger, clock: Clock): Claim {
  const nothing = () => {}
  const runtime = {
    tokens: createTokenRegistry(ledger.kv),
    ledger,
    clock,
    log: { info: nothing, warn: nothing, error: nothing },
    identity: { sign: () => new Uint8Array(64) },
    countAdmitted: nothing,
    changes: { note: nothing },
    usage: { count: nothing },
    ending: new Map(),
  }
  const route = { config: { leaseMs, envelope: 'none', mints: {}, cors: false } }
  const state = { running: createInFlight(), listener: undefined, dialects: nativeOnly, types: createResourceTypes() }
  const routeRuntime = { runtime, route, ...state }
  const incoming = { request: {}, method: 'GET', target: '/', header: nothing, origin: () => 'http://a' }
  return { routeRuntime, incoming, proof: { tx: 'tx', requestId: 'id' } } as unknown as Claim
}

function newServer(fixture: SimulationFixture, name: string): Server {
  return { process: createProcess(name), ledger: connect(fixture) }
}

/** The store, over a network that is slow and loses what it likes. The store itself goes on when its callers die. */
function connect(fixture: SimulationFixture): Ledger {
  const { schedule, store, deliveries } = fixture
  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    const lost = () => fixture.chaos && (schedule.now() < fixture.storeDownUntil || schedule.chance(0.03))
    await schedule.sleep(delay(fixture))
    if (lost()) throw new LedgerUnavailable('the call was lost')
    const result = await work()
    await schedule.sleep(delay(fixture))
    if (lost()) throw new LedgerUnavailable('the answer was lost')
    return result
  }
  return {
    ...store,
    peek: (tx) => call(() => store.peek(tx)),
    renew: (grant, ms) => call(() => store.renew(grant, ms)),
    recordLate: (payment) => call(() => store.recordLate(payment)),
    take: (take) =>
      call(async () => {
        const taken = await store.take(take)
        if (taken.kind === 'granted') {
          const payment = Buffer.from(take.tx).toString('hex')
          deliveries.set(taken.grant, { payment, grantedAt: schedule.now(), writes: [] })
        }
        return taken
      }),
    end: (grant, outcome, used) =>
      call(async () => {
        const ended = await store.end(grant, outcome, used)
        const delivery = deliveries.get(grant)
        if (ended && outcome === 'delivered' && delivery) delivery.settledAt = schedule.now()
        return ended
      }),
  }
}

function delay({ schedule, chaos }: SimulationFixture): number {
  return chaos && schedule.chance(0.05) ? schedule.between(500, 3_000) : schedule.between(0, 20)
}

function newPayment(seed: number, index: number): PaymentRecord {
  return {
    tx: new Uint8Array(createHash('sha512').update(`${seed}/${index}`).digest()),
    request: `request-${index}`,
    payer: 'payer',
    scope: 'default',
    recipient: 'recipient',
    token: 'USDC',
    required: 1n,
    received: 1n,
    allowance: { unit: 'request', amount: 1n },
    slot: 1,
    paidAt: 0,
    usableUntil: 10 * endMs,
    finality: 'confirmed',
    endpoint: '/api/data',
    worth: 1n,
    rates: undefined,
  }
}

/** A double: a delivery that began after another was settled, or two that went on at once. */
function judge(deliveries: readonly Delivery[]): readonly string[] {
  return deliveries.flatMap((one) =>
    deliveries.flatMap((other) => {
      if (one === other || one.payment !== other.payment || other.writes.length === 0) return []
      const late = one.settledAt !== undefined && other.grantedAt > one.settledAt
      const beside = one.grantedAt < other.grantedAt && one.writes.some((at) => at > other.grantedAt)
      return [
        ...(late ? [`delivered at ${other.grantedAt} although settled at ${one.settledAt}`] : []),
        ...(beside ? [`two deliveries at once from ${other.grantedAt}`] : []),
      ]
    }),
  )
}

/** Everybody has everything in the end, unless it left three times itself. */
function missing({ hasAll, partial, payment }: Client): readonly string[] {
  return hasAll || partial >= 3 ? [] : [`${payment.request} was paid and never served`]
}
