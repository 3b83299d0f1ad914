/**
 * Money out, played out: several workers with the product's own accrual and payouts, a store behind a bad network, a chain
 * whose nodes lag, lose and time out, and deaths and pauses in between. Afterwards it is counted from outside what each
 * payee got on chain, and what was owed.
 */
import { createHash } from 'node:crypto'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { FrozenRates } from '../../src/core/money/rates.ts'
import { createMeter } from '../../src/core/observability/metrics.ts'
import type {
  AccountState,
  OutgoingTransfer,
  OutgoingWallet,
  SignedBytes,
} from '../../src/core/payouts/outgoing-wallet.ts'
import type { OutgoingTransactions, Sealer } from '../../src/core/payouts/ports/outgoing.ts'
import type { RewardRules } from '../../src/core/payouts/rewards.ts'
import { shareOut } from '../../src/core/payouts/rewards.ts'
import type { Ledger, PaymentRecord } from '../../src/core/ports/ledger.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import type { Clock, Log } from '../../src/core/runtime.ts'
import { startAccrual } from '../../src/workers/payouts/accrual.ts'
import { createAddresses } from '../../src/workers/payouts/payees.ts'
import { startPayouts } from '../../src/workers/payouts/payouts.ts'
import type { Process, Schedule } from './schedule.ts'
import { createProcess, createSchedule } from './schedule.ts'
import type { CreateStore } from './stores.ts'

export interface PayoutStory {
  readonly violations: readonly string[]
  readonly landed: number
  readonly signed: number
  readonly deaths: number
  /** On how many days something landed. */
  readonly days: number
  readonly failed: number
}

/** Ways in which a node, or whoever asks it, may be wrong; none of them in the sound world. */
export interface Flaws {
  /** Takes a transaction for dead as soon as nobody has seen it for a while. */
  readonly isHasty?: boolean
  /** Counts nothing of what went out before. */
  readonly isCapForgotten?: boolean
}

const wallet = (number: number) => encodeBase58(createHash('sha256').update(`wallet ${number}`).digest())
const nameOf = (address: string) => `name of ${address}`
const payers = Array.from({ length: 6 }, (_, index) => wallet(100 + index))
const [collector, partner, treasury, buyback, incentives] = [1, 2, 3, 4, 5].map(wallet) as [
  string,
  string,
  string,
  string,
  string,
]
const rates: FrozenRates = {
  table: { NATIVE: '0.1', USDC: '1', SOL: '150' },
  source: 'fixed',
  at: 0,
  decimals: { NATIVE: 9, USDC: 6, SOL: 9 },
}
const rules: RewardRules = {
  collectors: [collector],
  partners: [{ name: 'acme', wallet: partner, bps: 8_500, endpoints: ['/api'] }],
  developerBps: 0,
  cashback: [
    { from: 0n, bps: 100 },
    { from: 3_000_000_000_000n, bps: 500 },
  ],
  rest: {
    treasury: { wallet: treasury, weight: 1 },
    buyback: { wallet: buyback, weight: 1 },
    incentives: { wallet: incentives, weight: 1 },
  },
  withoutPartner: false,
  hosts: [],
  insiders: [],
}
const native = { address: wallet(50), decimals: 9, tokenProgram: wallet(51) }
const least = 1_000_000n
const openingCost = 2_039_280n
/** More than one payment earns anybody, and less than many may earn one. */
const smallCap = 30_000_000_000n

const blockMs = 400
const validBlocks = 20
const finalBlocks = 8
const chaosMs = 40_000
const endMs = 90_000
const dayMs = 86_400_000

interface Sent {
  readonly transfers: readonly OutgoingTransfer[]
  readonly lastValidBlockHeight: number
}

interface Chain {
  height(): number
  readonly sent: Map<string, Sent>
  /** By signature: the block, and whether it failed. */
  readonly blocks: Map<string, { readonly height: number; readonly failed: boolean }>
  readonly got: Map<string, bigint>
  /** When how much landed. */
  readonly landings: { readonly at: number; readonly units: bigint }[]
  readonly accounts: Map<string, AccountState>
  signed: number
}

interface SimulationFixture {
  readonly schedule: Schedule
  readonly store: Ledger
  readonly chain: Chain
  readonly flaws: Flaws
  /** The most that may go out in a day. */
  readonly cap: bigint | undefined
  chaos: boolean
  storeDownUntil: number
}

export async function playPayouts(
  seed: number,
  createStore: CreateStore,
  install: (schedule: Schedule) => void,
  flaws: Flaws = {},
): Promise<PayoutStory> {
  const schedule = createSchedule(seed)
  install(schedule)
  const chain = createChain(schedule)
  const cap = schedule.chance(0.3) ? smallCap : undefined
  const fixture: SimulationFixture = {
    schedule,
    store: createStore(schedule),
    chain,
    flaws,
    cap,
    chaos: true,
    storeDownUntil: 0,
  }
  await fixture.store.rewards.start()
  let deaths = 0
  const workers = Array.from({ length: schedule.between(1, 3) }, (_, index) => {
    const slot = { process: createProcess(`worker ${index}`) }
    startWorker(fixture, slot.process)
    return slot
  })
  const disturb = async (): Promise<void> => {
    while (schedule.now() < chaosMs) {
      await schedule.sleep(schedule.between(200, 4_000))
      const worker = workers[schedule.between(0, workers.length - 1)] as { process: Process }
      const dice = schedule.random()
      if (dice < 0.5) {
        deaths += 1
        worker.process.kill()
        worker.process = createProcess(worker.process.name)
        startWorker(fixture, worker.process)
      } else if (dice < 0.75) worker.process.pausedUntil = schedule.now() + schedule.between(1_000, 15_000)
      else if (dice < 0.87) fixture.storeDownUntil = schedule.now() + schedule.between(100, 3_000)
      else freezeSomebody(fixture)
    }
    fixture.chaos = false
    for (const [owner, state] of chain.accounts) if (state === 'frozen') chain.accounts.set(owner, 'ready')
  }
  void disturb()
  const payments = Array.from({ length: schedule.between(1, 12) }, (_, index) => newPayment(schedule, seed, index))
  for (const payment of payments) void earn(fixture, payment)
  await schedule.run(endMs)
  // Whoever was parked for a day is paid after it. Nobody works meanwhile, so that the day is over at once.
  for (const { process } of workers) process.kill()
  // Where little may go out in a day, it takes several.
  for (let day = 1, at = endMs; day === 1 || (day < mostDays && (await isOwing(fixture))); day += 1) {
    at += dayMs
    await schedule.run(at)
    const last = createProcess(`the last worker of day ${day}`)
    startWorker(fixture, last)
    at += 40_000
    await schedule.run(at)
    last.kill()
  }
  return {
    violations: await judge(fixture, payments),
    landed: [...chain.blocks.values()].filter(({ failed }) => !failed).length,
    failed: [...chain.blocks.values()].filter(({ failed }) => failed).length,
    signed: chain.signed,
    deaths,
    days: new Set(chain.landings.map(({ at }) => Math.floor(at / dayMs))).size,
  }
}

function startWorker(fixture: SimulationFixture, process: Process): void {
  const { schedule } = fixture
  const ledger = overNetwork(fixture)
  const { rewards, outgoing } = ledger
  if (!rewards || !outgoing) throw new Error('the store keeps no rewards')
  const clock: Clock = { now: schedule.now, monotonic: schedule.now }
  const common = { rewards, clock, log: silent, meter: createMeter(), rates: () => rates }
  const wireNames = new Map(
    [...payers, collector, partner, treasury, buyback, incentives].map((one) => [nameOf(one), one]),
  )
  schedule.as(process, () => {
    startAccrual({ ...common, rules, ratesAt: async () => rates, nameOf: (bytes) => nameOf(encodeBase58(bytes)) })
    const addresses = createAddresses({
      chain: {
        read: async (signature) => {
          await schedule.sleep(schedule.between(1, 50))
          if (fixture.chaos && schedule.chance(0.1)) return { kind: 'unavailable', why: 'no node answers' }
          return readPayment(fixture, signature, wireNames)
        },
      },
      nameOf: (bytes) => nameOf(encodeBase58(bytes)),
    })
    startPayouts({
      ...common,
      outgoing,
      addresses,
      outgoingWallet: createCourier(fixture),
      sealer,
      native,
      limits: { least, dailyCap: fixture.cap, everyMs: 3_000, dailyFees: 10n ** 12n, fee: 5_000n },
      isPaused: async () => false,
    })
  })
}

const silent: Log = { info: () => {}, warn: () => {}, error: () => {} }
const sealer: Sealer = {
  tag: 'test-tag',
  seal: (bytes, about) => `${about}\n${Buffer.from(bytes).toString('base64')}`,
  open: (text, about) =>
    text.startsWith(`${about}\n`) ? new Uint8Array(Buffer.from(text.slice(about.length + 1), 'base64')) : undefined,
}

function createChain(schedule: Schedule): Chain {
  return {
    height: () => Math.floor(schedule.now() / blockMs),
    sent: new Map(),
    blocks: new Map(),
    got: new Map(),
    landings: [],
    accounts: new Map([[payers[0] ?? '', 'missing']]),
    signed: 0,
  }
}

/** Nodes that answer late, from the past, or not at all, and pass on what they took or lose it. */
function createCourier(fixture: SimulationFixture): OutgoingWallet {
  const { schedule, chain, flaws } = fixture
  const travel = async (): Promise<boolean> => {
    await schedule.sleep(schedule.between(1, fixture.chaos ? 400 : 50))
    return !(fixture.chaos && schedule.chance(0.1))
  }
  return {
    wallet: wallet(60),
    holdings: async () => ((await travel()) ? { lamports: 10n ** 12n, units: [10n ** 18n] } : undefined),
    readAccounts: async (owners) =>
      (await travel()) ? owners.map((owner) => chain.accounts.get(owner) ?? 'ready') : undefined,
    openingCost: async () => ((await travel()) ? openingCost : undefined),
    fit: ({ transfers }) => Math.min(3, transfers.length),
    read: async (signature) => {
      const block = (await travel()) ? chain.blocks.get(signature) : undefined
      if (!block) return undefined
      const nobody = { feePayer: '', fee: 0n, memos: [], transfers: [], holdings: [] }
      return { signature, slot: block.height, blockTime: 1, failed: block.failed, ...nobody }
    },
    sign: async ({ transfers }) => {
      if (!(await travel())) return { kind: 'unavailable', why: 'no node answers' }
      const bad = transfers.find(({ owner }) => chain.accounts.get(owner) === 'frozen')
      if (bad && schedule.chance(0.7)) return { kind: 'impossible', why: 'an account is frozen' }
      chain.signed += 1
      const signature = `signature ${chain.signed}`
      // A node that lags hands out a block that is older than it could be, never a younger one.
      const lastValidBlockHeight = Math.max(0, chain.height() - schedule.between(0, 5)) + validBlocks
      const wire = new TextEncoder().encode(
        JSON.stringify({
          transfers: transfers.map((one) => ({ ...one, units: one.units.toString() })),
          lastValidBlockHeight,
        }),
      )
      return { kind: 'signed', signed: { wire, signature, lastValidBlockHeight, slot: chain.height() } }
    },
    send: async (signed) => {
      const isHeard = await travel()
      if (!(fixture.chaos && schedule.chance(0.3))) void carry(fixture, signed)
      // It may have taken it and still not say so.
      return isHeard ? { kind: 'sent' } : { kind: 'unknown', why: 'no answer' }
    },
    readOutcome: async (signed) => {
      if (!(await travel())) return { kind: 'open', why: 'no node answers' }
      const height = chain.height() - (fixture.chaos ? schedule.between(0, 30) : 0)
      const final = height - finalBlocks
      const block = chain.blocks.get(signed.signature)
      if (block && block.height <= final)
        return block.failed
          ? { kind: 'failed', slot: block.height, why: 'an account is frozen' }
          : { kind: 'landed', slot: block.height }
      if (flaws.isHasty && !block && height > signed.slot + 3) return { kind: 'expired' }
      if (final > signed.lastValidBlockHeight && !block) return { kind: 'expired' }
      return { kind: 'open', why: 'it may still land' }
    },
  }
}

/** On its way into a block, for as long as its own block is recent. */
async function carry(fixture: SimulationFixture, { signature, wire }: SignedBytes): Promise<void> {
  const { schedule, chain } = fixture
  await schedule.sleep(schedule.between(100, 6_000))
  if (fixture.chaos && schedule.chance(0.2)) freezeSomebody(fixture)
  const { transfers, lastValidBlockHeight } = JSON.parse(new TextDecoder().decode(wire)) as {
    readonly transfers: readonly (Omit<OutgoingTransfer, 'units'> & { readonly units: string })[]
    readonly lastValidBlockHeight: number
  }
  if (chain.blocks.has(signature) || chain.height() > lastValidBlockHeight) return
  const failed = transfers.some(({ owner, opens }) => {
    const state = chain.accounts.get(owner) ?? 'ready'
    return state === 'frozen' || (state === 'missing' && !opens)
  })
  chain.blocks.set(signature, { height: chain.height(), failed })
  if (failed) return
  const units = transfers.reduce((sum, one) => sum + BigInt(one.units), 0n)
  chain.landings.push({ at: schedule.now(), units })
  for (const { owner, units } of transfers) {
    chain.got.set(owner, (chain.got.get(owner) ?? 0n) + BigInt(units))
    if (chain.accounts.get(owner) === 'missing') chain.accounts.set(owner, 'ready')
  }
}

function freezeSomebody({ schedule, chain }: SimulationFixture): void {
  const owner = payers[schedule.between(1, payers.length - 1)] ?? ''
  chain.accounts.set(owner, chain.accounts.get(owner) === 'frozen' ? 'ready' : 'frozen')
}

/** Calls that are lost on the way there, or whose answer is lost on the way back. */
function overNetwork(fixture: SimulationFixture): Ledger {
  const { schedule, store } = fixture
  const call = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await schedule.sleep(schedule.between(1, 20))
    const isLost = fixture.chaos && (schedule.now() < fixture.storeDownUntil || schedule.chance(0.02))
    if (isLost && schedule.chance(0.5)) throw new LedgerUnavailable('lost on the way there')
    const result = await work()
    await schedule.sleep(schedule.between(1, 20))
    if (isLost) throw new LedgerUnavailable('lost on the way back')
    return result
  }
  const wrap = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>
        return (...args: unknown[]) => call(() => method.apply(target, args))
      },
    })
  if (!store.rewards || !store.outgoing) throw new Error('the store keeps no rewards')
  const outgoing = wrap(store.outgoing)
  const forgetful: OutgoingTransactions = {
    ...store.outgoing,
    ...{ sign: outgoing.sign, unsign: outgoing.unsign, land: outgoing.land, drop: outgoing.drop },
    planned: async () => 0n,
    plan: ({ cap: _, ...plan }) => outgoing.plan(plan),
  }
  return { ...store, rewards: wrap(store.rewards), outgoing: fixture.flaws.isCapForgotten ? forgetful : outgoing }
}

function newPayment(schedule: Schedule, seed: number, index: number): PaymentRecord {
  const payer = payers[schedule.between(0, payers.length - 1)] ?? ''
  const required = BigInt(schedule.between(1, 3_000_000))
  return {
    tx: new Uint8Array(createHash('sha512').update(`payment ${seed} ${index}`).digest()),
    request: `request ${index}`,
    payer: nameOf(payer),
    scope: 'GET /api',
    recipient: collector,
    token: 'USDC',
    required,
    received: required + BigInt(schedule.between(0, 1)),
    allowance: { unit: 'request', amount: 1n },
    slot: 1,
    paidAt: schedule.between(0, chaosMs),
    usableUntil: 7 * dayMs,
    finality: 'finalized',
    endpoint: schedule.chance(0.9) ? '/api' : '/own',
    worth: undefined,
    rates: schedule.chance(0.9) ? rates : undefined,
  }
}

/** Paid, registered and delivered, some time after. */
async function earn({ schedule, store }: SimulationFixture, payment: PaymentRecord): Promise<void> {
  await schedule.sleep(payment.paidAt + schedule.between(0, 10_000))
  const { tx, request } = payment
  const taken = await store.take({ tx, request, payment, amount: 1n, leaseMs: 60_000 })
  await schedule.sleep(schedule.between(0, 5_000))
  if (taken.kind === 'granted') await store.end(taken.grant, 'delivered', 1n)
}

async function readPayment(
  { store }: SimulationFixture,
  signature: string,
  names: ReadonlyMap<string, string>,
): ReturnType<Parameters<typeof createAddresses>[0]['chain']['read']> {
  const listed = (await store.books.listPayments({ order: 'latest', most: 100 })) ?? []
  const found = listed.find(({ tx }) => encodeBase58(tx) === signature)
  const payer = found && names.get(found.payer)
  if (payer === undefined) return { kind: 'missing' }
  const transfer = {
    asset: 'USDC',
    destination: collector,
    destinationOwner: collector,
    sourceOwner: payer,
    authority: payer,
    units: found?.units,
    signers: [payer],
    memos: [],
  }
  const effect = {
    ...{ signature, slot: 1, blockTime: 1, failed: false, feePayer: payer, fee: 0n, memos: [], holdings: [] },
    transfers: [transfer],
  }
  return { kind: 'found', effect }
}

const mostDays = 40

/** Somebody is owed what could be sent, and would be if more might go out. */
async function isOwing({ store, cap }: SimulationFixture): Promise<boolean> {
  return cap !== undefined && ((await store.rewards.due(least, 10)) ?? []).some(({ role }) => role !== 'cashback')
}

/** Whether more went out within any 24 hours than may. */
function isOverCap({ cap, chain: { landings } }: SimulationFixture): boolean {
  const within = ({ at }: { readonly at: number }) =>
    landings.filter((one) => one.at <= at && one.at > at - dayMs).reduce((sum, { units }) => sum + units, 0n)
  return cap !== undefined && landings.some((one) => within(one) > cap)
}

/** What everybody should have: reckoned by the rules alone, payment by payment, in the order of the accruals. */
async function judge(fixture: SimulationFixture, payments: readonly PaymentRecord[]): Promise<readonly string[]> {
  const { store, chain } = fixture
  const violations: string[] = []
  const { rewards } = store
  if (isOverCap(fixture)) violations.push('more went out within a day than may')
  const accruals = (await rewards.accruals(0, 1_000)) ?? []
  if (accruals.length !== payments.length)
    violations.push(`${payments.length - accruals.length} payments are forgotten`)
  const due = new Map<string, bigint>()
  const spent = new Map<string, { readonly at: number; readonly worth: bigint }[]>()
  for (const { payer, endpoint, units, paidAt, token } of accruals) {
    const earlier = (spent.get(payer) ?? []).filter(({ at }) => at <= paidAt && at > paidAt - 7 * dayMs)
    const sum = earlier.reduce((total, { worth }) => total + worth, 0n)
    const sharing = shareOut(
      rules,
      { recipient: collector, payer, endpoint, token, units, collected: [], rates, spent: sum, developer: undefined },
      nameOf,
    )
    if (sharing.kind !== 'shared') continue
    spent.set(payer, [...(spent.get(payer) ?? []), { at: paidAt, worth: sharing.worth }])
    for (const { payee, units: part } of sharing.shares) due.set(payee, (due.get(payee) ?? 0n) + part)
  }
  for (const owner of [partner, treasury, buyback, incentives, ...payers]) {
    const owed = (due.get(owner) ?? 0n) + (due.get(nameOf(owner)) ?? 0n)
    const got = chain.got.get(owner) ?? 0n
    if (got > owed) violations.push(`${owner} got ${got} and was owed ${owed}`)
    // What is below the threshold, or does not pay for an account, is still owed.
    const rent = owner === payers[0] && owed > 0n ? 10n * openingUnits : 0n
    if (got + rent + least <= owed) violations.push(`${owner} got ${got} of ${owed}`)
  }
  const problems = (await rewards.audit()) ?? []
  violations.push(...problems.map(({ line, kept, counted }) => `${line}: ${kept}, not ${counted}`))
  return violations
}

/** The rent of an account in NATIVE: 0.00203928 SOL at 150 for 0.1. */
const openingUnits = openingCost * 1_500n
