/** The product's payouts over a ledger in memory and a chain of one wallet, on which everything lands as it is told. */
import { createHash, randomBytes } from 'node:crypto'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { FrozenRates } from '../../src/core/money/rates.ts'
import { createMeter } from '../../src/core/observability/metrics.ts'
import type {
  AccountState,
  Outcome,
  OutgoingWallet,
  Signing,
  TransferOrder,
} from '../../src/core/payouts/outgoing-wallet.ts'
import type { OutgoingTransactions } from '../../src/core/payouts/ports/outgoing.ts'
import type { Rewards } from '../../src/core/payouts/ports/rewards.ts'
import type { RewardRole } from '../../src/core/payouts/rewards.ts'
import type { Loop } from '../../src/workers/loop.ts'
import type { PayoutLimits, PayoutsParts } from '../../src/workers/payouts/limits.ts'
import type { Finding } from '../../src/workers/payouts/payees.ts'
import { startPayouts } from '../../src/workers/payouts/payouts.ts'
import { accrualOf } from '../ledger/payables-fixture.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'

export const dayMs = 86_400_000
export const hourMs = 3_600_000
export const minuteMs = 60_000
export const fee = 5_000n

export interface PayoutFixture {
  readonly parts: PayoutsParts
  readonly rewards: Rewards
  readonly outgoing: OutgoingTransactions
  /** By payee: what landed for them. */
  readonly got: Map<string, bigint>
  /** The transfers of every transaction that was sent, the first time. */
  readonly sent: (readonly string[])[]
  /** Why nothing was paid, as it was logged. */
  readonly told: string[]
  /** What the world is like; may be changed at any time. */
  readonly world: World
  /** Owes more to people. */
  owe(units: Readonly<Record<string, bigint>>, role?: RewardRole): Promise<void>
  /** One turn of the worker; `count` for several. */
  run(count?: number): Promise<void>
  pass(ms: number): void
  /** Another worker, who knows nothing of this one. */
  another(changes?: Partial<PayoutsParts>): Loop
  stop(): Promise<void>
}

export interface World {
  units: bigint
  lamports: bigint
  isPaused: boolean
  rates: FrozenRates | undefined
  /** How many transfers go into one transaction. */
  fit: number
  accounts: Map<string, AccountState> | undefined
  finding: (payee: string) => Finding
  outcome: Outcome['kind']
  signing: (order: TransferOrder) => Exclude<Signing, { kind: 'signed' }> | undefined
}

const rates: FrozenRates = {
  table: { NATIVE: '0.5', USDC: '1', SOL: '150' },
  source: 'fixed',
  at: 0,
  decimals: { NATIVE: 9, USDC: 6, SOL: 9 },
}
const addressOf = (name: string) => encodeBase58(createHash('sha256').update(name).digest())

export function openPayoutFixture(limits: Partial<PayoutLimits> = {}): PayoutFixture {
  let now = 1_790_000_000_000
  const clock = { now: () => now, monotonic: () => now }
  const { rewards, outgoing } = createReferenceLedger({ clock })
  const world: World = {
    units: 10n ** 18n,
    lamports: 10n ** 12n,
    isPaused: false,
    rates,
    fit: 3,
    accounts: new Map(),
    finding: (payee) => ({ kind: 'found', address: payee }),
    outcome: 'landed',
    signing: () => undefined,
  }
  const [got, sent, told]: [PayoutFixture['got'], PayoutFixture['sent'], string[]] = [new Map(), [], []]
  const parts: PayoutsParts = {
    rewards,
    outgoing,
    clock,
    outgoingWallet: createCourier(world, got, sent),
    addresses: {
      find: async ({ payee }) => world.finding(payee),
      sent: async () => ({ kind: 'lost', why: 'nobody is refunded here' }),
    },
    native: { address: addressOf('mint'), decimals: 9, tokenProgram: addressOf('program') },
    rates: () => world.rates,
    limits: { least: 10n, dailyCap: undefined, everyMs: hourMs, dailyFees: 10n ** 12n, fee, ...limits },
    isPaused: async () => world.isPaused,
    meter: createMeter(),
    log: {
      info: () => {},
      warn: (event, facts) => void (event === 'payouts.waiting' && told.push(String(facts?.['why']))),
      error: () => {},
    },
    sealer: {
      tag: 'test-tag',
      seal: (bytes) => Buffer.from(bytes).toString('base64'),
      open: (text) => Buffer.from(text, 'base64'),
    },
  }
  const loops: Loop[] = []
  const another: PayoutFixture['another'] = (changes = {}) => {
    const loop = startPayouts({ ...parts, ...changes })
    loops.push(loop)
    return loop
  }
  const own = another()
  return {
    ...{ parts, rewards, outgoing, got, sent, told, world, another },
    owe: async (units, role = 'developer') => {
      const accruals = Object.entries(units).map(([payee, amount]) =>
        accrualOf({ [`${role}:${payee}`]: amount }, { at: now }),
      )
      const { last } = await rewards.accruable(0)
      await rewards.accrue(last, accruals)
    },
    run: async (count = 1) => {
      for (let turn = 0; turn < count; turn += 1) await own.run()
    },
    pass: (ms) => {
      now += ms
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}

function createCourier(world: World, got: Map<string, bigint>, sent: PayoutFixture['sent']): OutgoingWallet {
  const orders = new Map<string, TransferOrder>()
  const landed = new Set<string>()
  return {
    wallet: addressOf('wallet'),
    holdings: async () => ({ lamports: world.lamports, units: [world.units] }),
    readAccounts: async (owners) => owners.map((owner) => world.accounts?.get(owner) ?? 'ready'),
    openingCost: async () => 2_000n,
    fit: ({ transfers }) => Math.min(world.fit, transfers.length),
    read: async (signature) => {
      const nobody = { feePayer: '', fee: 0n, memos: [], transfers: [], holdings: [] }
      return landed.has(signature) ? { signature, slot: 2, blockTime: 1, failed: false, ...nobody } : undefined
    },
    sign: async (order) => {
      const refusal = world.signing(order)
      if (refusal) return refusal
      const signature = randomBytes(8).toString('hex')
      orders.set(signature, order)
      const wire = new TextEncoder().encode(signature)
      return { kind: 'signed', signed: { wire, signature, lastValidBlockHeight: 100, slot: 1 } }
    },
    send: async ({ signature }) => {
      const { transfers = [] } = orders.get(signature) ?? {}
      sent.push(transfers.map(({ owner }) => owner))
      return { kind: 'sent' }
    },
    readOutcome: async ({ signature }) => {
      if (world.outcome === 'open') return { kind: 'open', why: 'it may still land', isThere: true }
      if (world.outcome === 'failed') return { kind: 'failed', slot: 2, why: 'no reason' }
      if (world.outcome === 'expired') return { kind: 'expired' }
      if (!landed.has(signature)) {
        landed.add(signature)
        for (const { owner, units } of orders.get(signature)?.transfers ?? []) {
          got.set(owner, (got.get(owner) ?? 0n) + units)
          world.units -= units
        }
      }
      return { kind: 'landed', slot: 2 }
    },
  }
}
