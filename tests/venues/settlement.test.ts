/** The settlement worker on a real chain, with a real desk and a ledger. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Wallet } from '../../src/chain/keys/keypair.ts'
import { createOutgoingWallet } from '../../src/chain/wallets/outgoing-wallet.ts'
import { testRates } from '../../src/core/money/rates.ts'
import { createMeter } from '../../src/core/observability/metrics.ts'
import type { ConversionAbout, ConversionRules } from '../../src/core/payouts/conversion.ts'
import {
  formatConversionLockKey,
  parseConversion,
  settlementBeats,
  usualConversionLimits,
  usualSolKept,
} from '../../src/core/payouts/conversion.ts'
import type { OutgoingTransaction } from '../../src/core/payouts/ports/outgoing.ts'
import type { Venue } from '../../src/core/payouts/venue.ts'
import type { KeyValueStore } from '../../src/core/ports/kv.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { createSealer } from '../../src/host/keys/seal.ts'
import type { Converter, SettlementParts } from '../../src/workers/payouts/settlement.ts'
import { createSettlement } from '../../src/workers/payouts/settlement.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'
import { openTrade, quiet, type Trade } from './venue-fixture.ts'

let trade: Trade
let ledger: Ledger
let wallet: Wallet
beforeAll(async () => {
  trade = await openTrade()
})
afterAll(() => trade.close())
beforeEach(async () => {
  ledger = createReferenceLedger({ clock: trade.clock })
  wallet = await trade.taker()
})

const rules: ConversionRules = {
  settlementToken: 'USDC',
  tokens: ['NATIVE', 'USDC'],
  thresholds: { NATIVE: 500_000_000_000n, SOL: 1_000_000_000n },
  keeps: { SOL: usualSolKept },
  ...usualConversionLimits,
}

const outgoing = () => {
  if (!ledger.outgoing) throw new Error('the ledger keeps no dispatches')
  return ledger.outgoing
}

interface Options {
  readonly rules?: Partial<ConversionRules>
  readonly venue?: (honest: Venue) => Venue
  readonly rates?: Converter['rates']
  readonly isConfirmed?: Converter['isConfirmed']
  readonly outgoingWallet?: (honest: Converter['outgoingWallet']) => Converter['outgoingWallet']
  readonly parts?: Partial<SettlementParts>
}

/** One worker, with what it heard. */
function openWorker(options: Options = {}) {
  const { rpc, genesis, clock } = trade
  const outgoingWallet = createOutgoingWallet({ rpc, genesis, wallet, verifier: createVerifier(), clock, log: quiet })
  const venue = trade.venue(wallet)
  const heard: ConversionAbout[] = []
  const converter: Converter = {
    outgoingWallet: options.outgoingWallet?.(outgoingWallet) ?? outgoingWallet,
    venue: options.venue?.(venue) ?? venue,
    rules: { ...rules, ...options.rules },
    mints: trade.mints,
    isConfirmed: options.isConfirmed ?? (async () => true),
    rates: options.rates ?? (() => testRates),
  }
  const turn = createSettlement({
    outgoing: outgoing(),
    kv: ledger.kv,
    converters: [converter],
    sealer: createSealer(new Uint8Array(32).fill(7)),
    isPaused: async () => false,
    clock,
    log: quiet,
    meter: createMeter(),
    onConverted: (_dispatch, about) => heard.push(about),
    ...options.parts,
  })
  return { turn, heard }
}

const all = (): Promise<readonly OutgoingTransaction[]> => outgoing().list({ kind: 'conversion', most: 50 })
const finalize = () => trade.world.localnet.advanceSlots(40)

describe('a conversion', () => {
  it('happens when the threshold is reached, and stores the quoted and the received amount', async () => {
    const { turn, heard } = openWorker()
    const before = await trade.holds(wallet.address)
    await turn()
    const [underway] = await all()
    expect(underway).toMatchObject({
      state: 'signed',
      lockKey: formatConversionLockKey(wallet.address, 'NATIVE'),
      attempts: 1,
    })
    finalize()
    await turn()
    const [landed] = await all()
    expect(landed).toMatchObject({ state: 'landed', slot: expect.any(Number) })
    const about = {
      wallet: wallet.address,
      sell: 'NATIVE',
      buy: 'USDC',
      venue: 'rfq',
      units: 1_000_000_000_000n,
      quoted: 99_700_000n,
      minimum: 99_201_500n,
      sold: 1_000_000_000_000n,
      received: 99_700_000n,
    }
    expect(parseConversion(landed?.about ?? '')).toEqual(about)
    expect(heard).toEqual([about])
    const after = await trade.holds(wallet.address)
    expect([after.NATIVE, after.USDC - before.USDC]).toEqual([0n, 99_700_000n])
    // What it holds now is below the threshold, and was converted already.
    await turn()
    expect(await all()).toHaveLength(1)
  })

  it('T242: waits while the clock is not known to be right, and its worker counts as running', async () => {
    let isConfirmed = false
    const { turn } = openWorker({ parts: { clockCheck: { why: () => undefined, isConfirmed: () => isConfirmed } } })
    await turn()
    expect([await all(), (await ledger.kv.list(settlementBeats(wallet.address))).length]).toEqual([[], 1])
    isConfirmed = true
    await turn()
    expect(await all()).toHaveLength(1)
  })

  it('ignores tokens below their threshold, and tokens that are not converted', async () => {
    const { turn } = openWorker({ rules: { thresholds: { NATIVE: 1_000_000_000_001n } } })
    await turn()
    expect(await all()).toEqual([])
    expect((await trade.holds(wallet.address)).SOL).toBe(10_000_000_000n)
  })

  it.each(['NATIVE', 'USDC'])('waits until the mint of %s is confirmed', async (unsure) => {
    const { turn } = openWorker({ isConfirmed: async (token) => token !== unsure })
    await turn()
    expect(await all()).toEqual([])
  })

  it('of SOL leaves the reserve for fees, and its result does not count the fee', async () => {
    const { turn, heard } = openWorker({ rules: { tokens: ['SOL'] } })
    await turn()
    finalize()
    await turn()
    expect(heard).toMatchObject([{ sell: 'SOL', sold: 9_950_000_000n, received: 1_488_022_500n }])
    expect((await trade.holds(wallet.address)).SOL).toBe(usualSolKept - 12_000n)
  })

  it('of several tokens goes on side by side', async () => {
    const { turn, heard } = openWorker({ rules: { tokens: ['NATIVE', 'SOL'] } })
    await turn()
    expect(await all()).toHaveLength(2)
    finalize()
    await turn()
    expect(heard.map(({ sell }) => sell)).toEqual(['NATIVE', 'SOL'])
  })

  it('converts the newly received amount when the threshold is reached again', async () => {
    const { turn, heard } = openWorker()
    await turn()
    finalize()
    await turn()
    await trade.world.localnet.fund(wallet.address, { NATIVE: 600_000_000_000n })
    await turn()
    finalize()
    await turn()
    expect(heard.map(({ sold }) => sold)).toEqual([1_000_000_000_000n, 600_000_000_000n])
  })

  it('records in the key-value store that a worker serves this wallet', async () => {
    const { turn } = openWorker()
    await turn()
    const beats = async () => (await ledger.kv?.list(settlementBeats(wallet.address)))?.length
    expect(await beats()).toBe(1)
    trade.clock.move(60_000)
    expect(await beats()).toBe(1)
    trade.clock.move(31_000)
    expect(await beats()).toBe(0)
  })
})

describe('nothing is reserved', () => {
  it.each<readonly [string, Options]>([
    ['while it is paused', { parts: { isPaused: async () => true } }],
    ['without a fresh rate', { rates: () => ({ USDC: '1' }) }],
    ['for a price far from the rate', { rates: () => ({ ...testRates, NATIVE: '0.103' }) }],
    [
      'while nobody tells what the wallet holds',
      { outgoingWallet: (honest) => ({ ...honest, holdings: async () => undefined }) },
    ],
    [
      'when the venue does not trade it',
      { venue: (honest) => ({ ...honest, quote: async () => ({ kind: 'refused', why: 'no' }) }) },
    ],
    [
      'when the venue promises too little',
      {
        venue: (honest) => ({
          ...honest,
          quote: async (order) => ({
            kind: 'quoted',
            quote: { order, units: 100_000_000n, least: 99_000_000n, ticket: {} },
          }),
        }),
      },
    ],
  ])('%s', async (_name, options) => {
    await openWorker(options).turn()
    expect(await all()).toEqual([])
  })

  it('again and again: a venue that says no is asked after a minute, then after two', async () => {
    let asked = 0
    const venue = (honest: Venue): Venue => ({
      ...honest,
      quote: async () => {
        asked += 1
        return { kind: 'unavailable', why: 'closed' }
      },
    })
    const { turn } = openWorker({ venue })
    for (const [seconds, times] of [
      [0, 1],
      [59, 1],
      [2, 2],
      [118, 2],
      [3, 3],
    ] as const) {
      trade.clock.move(seconds * 1000)
      await turn()
      expect(asked).toBe(times)
    }
  })
})

describe('exactly once', () => {
  it('T157: two workers at once convert one balance once', async () => {
    const before = await trade.holds(wallet.address)
    const workers = [openWorker(), openWorker(), openWorker()]
    await Promise.all(workers.map(({ turn }) => turn()))
    await Promise.all(workers.map(({ turn }) => turn()))
    finalize()
    await Promise.all(workers.map(({ turn }) => turn()))
    expect(await all()).toMatchObject([{ state: 'landed', attempts: 1 }])
    expect(workers.flatMap(({ heard }) => heard)).toHaveLength(1)
    const after = await trade.holds(wallet.address)
    expect(after.USDC - before.USDC).toBe(99_700_000n)
  })

  it('T147: a worker that dies after it has signed leaves it to the next', async () => {
    const dying = openWorker({
      outgoingWallet: (honest) => ({
        ...honest,
        send: async () => {
          throw new Error('killed')
        },
      }),
    })
    await dying.turn()
    expect(await all()).toMatchObject([{ state: 'signed' }])
    const { turn, heard } = openWorker()
    await turn()
    finalize()
    await turn()
    expect(heard).toHaveLength(1)
    expect(await all()).toMatchObject([{ state: 'landed', attempts: 1 }])
  })

  it('T148: a transaction that did not land in time is quoted and signed again, and only then', async () => {
    let lost = true
    const { turn, heard } = openWorker({
      outgoingWallet: (honest) => ({
        ...honest,
        send: async (signed) => (lost ? { kind: 'sent' } : honest.send(signed)),
      }),
    })
    await turn()
    for (let slots = 0; slots < 140; slots += 35) {
      trade.world.localnet.advanceSlots(35)
      await turn()
      expect(await all()).toMatchObject([{ state: 'signed', attempts: 1 }])
    }
    trade.world.localnet.advanceSlots(60)
    lost = false
    await turn()
    expect(await all()).toMatchObject([{ state: 'planned', why: 'the transaction did not land in time' }])
    await turn()
    finalize()
    await turn()
    expect(await all()).toMatchObject([{ state: 'landed', attempts: 2 }])
    expect(heard).toHaveLength(1)
  })

  it('is given up after five attempts, rests, and is planned anew', async () => {
    const { turn } = openWorker({ outgoingWallet: (honest) => ({ ...honest, send: async () => ({ kind: 'sent' }) }) })
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await turn()
      trade.world.localnet.advanceSlots(200)
      await turn()
    }
    await turn()
    expect(await all()).toMatchObject([{ state: 'dropped', attempts: 5 }])
    await turn()
    expect(await all()).toHaveLength(1)
    trade.clock.move(61_000)
    await turn()
    expect(await all()).toMatchObject([{ state: 'signed', attempts: 1 }, { state: 'dropped' }])
  })

  it('is dropped when the wallet has spent it meanwhile', async () => {
    const { turn } = openWorker({ outgoingWallet: (honest) => ({ ...honest, send: async () => ({ kind: 'sent' }) }) })
    await turn()
    trade.world.localnet.advanceSlots(200)
    await turn()
    const mint = trade.world.native
    const account = await trade.world.tokenAccount(wallet.address, mint)
    const held = trade.world.localnet.getAccount(account)
    if (!held) throw new Error('no account')
    const data = held.data.slice()
    new DataView(data.buffer).setBigUint64(64, 5n, true)
    trade.world.localnet.setAccount(account, { ...held, data })
    trade.world.localnet.advanceSlots(1)
    await turn()
    expect(await all()).toMatchObject([{ state: 'dropped', why: "the wallet's balance is too low by now" }])
  })

  it('is dropped when another token is settled in by then', async () => {
    const lost: Options = { outgoingWallet: (honest) => ({ ...honest, send: async () => ({ kind: 'sent' }) }) }
    await openWorker(lost).turn()
    trade.world.localnet.advanceSlots(200)
    const { turn } = openWorker({ rules: { settlementToken: 'SOL' } })
    await turn()
    await turn()
    expect((await all()).at(-1)).toMatchObject({ state: 'dropped', why: 'the settlement token has changed' })
  })

  it('waits for a better price before it is signed anew, ten minutes at the most', async () => {
    let rate = '0.1'
    const { turn } = openWorker({
      rates: () => ({ ...testRates, NATIVE: rate }),
      outgoingWallet: (honest) => ({ ...honest, send: async () => ({ kind: 'sent' }) }),
    })
    await turn()
    trade.world.localnet.advanceSlots(200)
    rate = '0.2'
    for (const seconds of [0, 300, 299]) {
      trade.clock.move(seconds * 1000)
      await turn()
      expect(await all()).toMatchObject([{ state: 'planned', attempts: 1 }])
    }
    trade.clock.move(2_000)
    await turn()
    expect(await all()).toMatchObject([{ state: 'dropped', why: expect.stringContaining('worse than the rate') }])
  })

  it('is not concluded before its effect can be read', async () => {
    let blind = true
    const { turn, heard } = openWorker({
      outgoingWallet: (honest) => ({ ...honest, read: async (tx) => (blind ? undefined : honest.read(tx)) }),
    })
    await turn()
    finalize()
    await turn()
    expect(await all()).toMatchObject([{ state: 'signed' }])
    blind = false
    await turn()
    expect(heard).toHaveLength(1)
  })

  it('asks for no other quote while it is under way', async () => {
    let asked = 0
    const { turn } = openWorker({
      venue: (honest) => ({
        ...honest,
        quote: (order) => {
          asked += 1
          return honest.quote(order)
        },
      }),
    })
    for (let time = 0; time < 3; time += 1) await turn()
    expect(asked).toBe(1)
  })

  it('leaves the reserve for fees also when it is signed again', async () => {
    const { turn } = openWorker({
      rules: { tokens: ['SOL'] },
      outgoingWallet: (honest) => ({ ...honest, send: async () => ({ kind: 'sent' }) }),
    })
    await turn()
    trade.world.localnet.advanceSlots(200)
    await turn()
    const held = trade.world.localnet.getAccount(wallet.address)
    if (!held) throw new Error('no account')
    trade.world.localnet.setAccount(wallet.address, { ...held, lamports: 9_999_999_999n })
    trade.world.localnet.advanceSlots(1)
    await turn()
    expect(await all()).toMatchObject([{ state: 'dropped', why: "the wallet's balance is too low by now" }])
  })

  it('is not signed anew while it is paused', async () => {
    let isPaused = false
    const { turn } = openWorker({
      parts: { isPaused: async () => isPaused },
      outgoingWallet: (honest) => ({ ...honest, send: async () => ({ kind: 'sent' }) }),
    })
    await turn()
    trade.world.localnet.advanceSlots(200)
    isPaused = true
    await turn()
    await turn()
    expect(await all()).toMatchObject([{ state: 'planned', attempts: 1 }])
    isPaused = false
    await turn()
    expect(await all()).toMatchObject([{ state: 'signed', attempts: 2 }])
  })

  it('is neither sent nor reserved after a pause during a slow response of the venue', async () => {
    for (const slow of ['quote', 'sign'] as const) {
      let isPaused = false
      const { turn } = openWorker({
        parts: { isPaused: async () => isPaused },
        venue: (honest) => ({
          ...honest,
          [slow]: async (...asked: Parameters<Venue['sign']>) => {
            isPaused = true
            return slow === 'sign' ? honest.sign(...asked) : honest.quote(asked[0] as never)
          },
        }),
      })
      await turn()
      await turn()
      expect(await all(), slow).toMatchObject(slow === 'sign' ? [{ state: 'planned', attempts: 0 }] : [])
    }
    await openWorker().turn()
    expect(await all()).toMatchObject([{ state: 'signed', attempts: 1 }])
  })

  it('is followed while it is paused', async () => {
    let isPaused = false
    const { turn, heard } = openWorker({ parts: { isPaused: async () => isPaused } })
    await turn()
    isPaused = true
    finalize()
    await turn()
    expect(heard).toHaveLength(1)
  })
})

describe('failures', () => {
  it('at one wallet does not hold up another, but a ledger that cannot be reached ends the turn', async () => {
    const broken: Converter['outgoingWallet'] = {
      ...({} as Converter['outgoingWallet']),
      wallet: '11111111111111111111111111111111',
      holdings: async () => {
        throw new Error('broken')
      },
    }
    const other = openWorker()
    const failed: unknown[] = []
    const parts = (converters: readonly Converter[]): SettlementParts => ({
      outgoing: outgoing(),
      kv: ledger.kv,
      converters,
      sealer: createSealer(new Uint8Array(32).fill(7)),
      isPaused: async () => false,
      clock: trade.clock,
      log: { ...quiet, error: (event) => failed.push(event) },
      meter: createMeter(),
    })
    const { rpc, genesis, clock } = trade
    const outgoingWallet = createOutgoingWallet({ rpc, genesis, wallet, verifier: createVerifier(), clock, log: quiet })
    const good: Converter = {
      outgoingWallet,
      venue: trade.venue(wallet),
      rules,
      mints: trade.mints,
      isConfirmed: async () => true,
      rates: () => testRates,
    }
    await createSettlement(parts([{ ...good, outgoingWallet: broken }, good]))()
    expect(failed).toEqual(['outgoing.failed'])
    expect(await all()).toMatchObject([{ state: 'signed' }])
    const kv = {
      ...(ledger.kv as KeyValueStore),
      put: async () => {
        throw new LedgerUnavailable('gone')
      },
    }
    await expect(createSettlement({ ...parts([good]), kv })()).rejects.toBeInstanceOf(LedgerUnavailable)
    await ledger.close()
    await expect(other.turn()).rejects.toBeInstanceOf(LedgerUnavailable)
  })
})
