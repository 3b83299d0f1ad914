/**
 * Stories about one wallet that earns, workers that convert and die at any line, a venue that says no, and nodes that lose,
 * delay and lag. On the chain every conversion happens once, and in the end nothing is left above the threshold.
 */
import { describe, expect, it } from 'vitest'
import { testRates } from '../../src/core/money/rates.ts'
import { knownMints } from '../../src/core/money/tokens.ts'
import { createMeter } from '../../src/core/observability/metrics.ts'
import type { Effect } from '../../src/core/payment/verify.ts'
import type { ConversionAbout } from '../../src/core/payouts/conversion.ts'
import { parseConversion, usualConversionLimits } from '../../src/core/payouts/conversion.ts'
import type { Outcome, SignedBytes } from '../../src/core/payouts/outgoing-wallet.ts'
import type { OutgoingTransactions } from '../../src/core/payouts/ports/outgoing.ts'
import type { Converter } from '../../src/workers/payouts/settlement.ts'
import { createSettlement } from '../../src/workers/payouts/settlement.ts'
import { size } from '../harness/length.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'

const seeds = Number(process.env['PAYSTILE_SEEDS'] ?? size(40, 1_000))
const threshold = 100n
const lifetime = 10
const finality = 3
const wallet = 'w'
const native = knownMints.localnet.NATIVE?.address ?? ''
const usdc = knownMints.localnet.USDC?.address ?? ''
const quiet = { info: () => {}, warn: () => {}, error: () => {} }

interface Swap {
  readonly signature: string
  readonly units: bigint
  readonly gives: bigint
  readonly lastHeight: number
  landedAt?: number
  failed?: boolean
}

class Death extends Error {}

async function play(seed: number) {
  let state = seed
  const below = (most: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 10) % most
  }
  const chance = (oneIn: number) => isChaos && below(oneIn) === 0
  let isChaos = true
  let time = 1_000_000
  let height = 100
  let earned = 0n
  const swaps = new Map<string, Swap>()
  const pool = new Set<string>()
  const kept = new Set<string>()
  const clock = { now: () => time, monotonic: () => time }
  const ledger = createReferenceLedger({ clock })
  const store = ledger.outgoing as OutgoingTransactions
  const sold = (upTo: number) =>
    [...swaps.values()].reduce((sum, { units, landedAt, failed }) => {
      return landedAt !== undefined && landedAt <= upTo && !failed ? sum + units : sum
    }, 0n)

  const outcomeOf = async ({ signature }: SignedBytes): Promise<Outcome> => {
    const swap = swaps.get(signature)
    if (!swap || chance(4)) return { kind: 'open', why: 'silence' }
    if (swap.landedAt !== undefined) {
      if (height - swap.landedAt < finality) return { kind: 'open', why: 'not final' }
      return swap.failed ? { kind: 'failed', slot: swap.landedAt, why: 'no' } : { kind: 'landed', slot: swap.landedAt }
    }
    return height > swap.lastHeight + finality ? { kind: 'expired' } : { kind: 'open', why: 'not there' }
  }
  const effectOf = ({ signature, units, gives, landedAt = 0 }: Swap): Effect => {
    const holding = (asset: string, before: bigint, after: bigint) => ({
      asset,
      account: asset,
      ownerBefore: wallet,
      ownerAfter: wallet,
      before,
      after,
    })
    const holdings = [holding(native, units, 0n), holding(usdc, 0n, gives)]
    const rest = { slot: landedAt, blockTime: 0, failed: false, feePayer: wallet, fee: 1n, memos: [], transfers: [] }
    return { signature, ...rest, holdings }
  }
  const converter: Converter = {
    isConfirmed: async () => true,
    outgoingWallet: {
      wallet,
      // A node may lag by a few blocks, and tell of money that is gone.
      holdings: async () => ({ lamports: 0n, units: [earned - sold(height - below(isChaos ? 4 : 1)), 0n] }),
      send: async ({ signature }) => {
        if (!kept.has(signature)) throw new Error('sent without being kept')
        if (!chance(3)) pool.add(signature)
        return chance(3) ? { kind: 'unknown', why: 'time-out' } : { kind: 'sent' }
      },
      readOutcome: outcomeOf,
      read: async (signature) => {
        const swap = swaps.get(signature)
        return swap && !chance(3) ? effectOf(swap) : undefined
      },
    },
    venue: {
      name: 'played',
      quote: async (order) => {
        if (chance(4)) return { kind: 'unavailable', why: 'closed' }
        const units = (order.units * BigInt(chance(4) ? 90 : 100)) / 10_000n
        return { kind: 'quoted', quote: { order, units, least: units, ticket: undefined } }
      },
      sign: async ({ order, units }) => {
        if (chance(4)) return { kind: 'unavailable', why: 'closed' }
        const signature = `s${swaps.size}`
        swaps.set(signature, { signature, units: order.units, gives: units, lastHeight: height + lifetime })
        const wire = new TextEncoder().encode(signature)
        return { kind: 'signed', signed: { wire, signature, lastValidBlockHeight: height + lifetime, slot: height } }
      },
    },
    rules: {
      settlementToken: 'USDC',
      tokens: ['NATIVE'],
      thresholds: { NATIVE: threshold },
      keeps: {},
      ...usualConversionLimits,
    },
    // A base unit of NATIVE is worth a hundredth of one of USDC.
    mints: knownMints.localnet,
    rates: () => ({ ...testRates, NATIVE: '10', USDC: '1' }),
  }
  /** Whatever a worker waits for, it may be dead before or after. */
  const mortal = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          if (chance(25)) throw new Death()
          const result: unknown = await Reflect.apply(value, target, args)
          if (chance(25)) throw new Death()
          return result
        }
      },
    })
  const guarded: OutgoingTransactions = {
    ...store,
    sign: async (id, version, signed, about) => {
      const result = await store.sign(id, version, signed, about)
      if (result.kind === 'signed') kept.add(signed.signature)
      return result
    },
  }
  const heard: ConversionAbout[] = []
  const open = () =>
    createSettlement({
      outgoing: mortal(guarded),
      kv: ledger.kv,
      converters: [{ ...converter, outgoingWallet: mortal(converter.outgoingWallet), venue: mortal(converter.venue) }],
      sealer: {
        tag: 'test-tag',
        seal: (bytes, about) => `${about}|${new TextDecoder().decode(bytes)}`,
        open: (text, about) => new TextEncoder().encode(text.slice(about.length + 1)),
      },
      isPaused: async () => false,
      clock,
      log: quiet,
      meter: createMeter(),
      onConverted: (_dispatch, about) => heard.push(about),
    })
  let workers = [open(), open()]
  const block = () => {
    height += 1
    for (const signature of pool) {
      const swap = swaps.get(signature)
      if (!swap || swap.landedAt !== undefined) continue
      if (height > swap.lastHeight) pool.delete(signature)
      else if (!chance(3)) {
        swap.landedAt = height
        // The chain takes no more than there is.
        swap.failed = earned - sold(height - 1) < swap.units || chance(5)
      }
    }
  }
  for (let turn = 0; turn < 120; turn += 1) {
    if (turn === 60) {
      isChaos = false
      // What a dead process left is for the next one, whose memory of failures is empty.
      workers = [open()]
    }
    if (isChaos && below(3) === 0) earned += BigInt(below(80))
    if (isChaos && below(10) === 0) workers[below(2)] = open()
    await Promise.all(workers.filter(() => !isChaos || below(3) > 0).map((work) => work().catch(() => {})))
    block()
    time += 70_000
  }
  return { swaps: [...swaps.values()], store, earned, sold: sold(height), heard }
}

describe('conversions', () => {
  it('T157: happen once each, after any crash, lag or loss, and leave nothing above the threshold', async () => {
    const seen = { landed: 0, attempts: 0, dropped: 0 }
    for (let seed = 1; seed <= seeds; seed += 1) {
      const story = await play(seed)
      const outgoing = await story.store.list({ most: 1_000 })
      const landed = story.swaps.filter(({ landedAt, failed }) => landedAt !== undefined && !failed)
      const booked = outgoing.filter(({ state }) => state === 'landed')
      const say = `seed ${seed}`
      expect(booked.map(({ signed }) => signed?.signature).toSorted(), say).toEqual(
        landed.map(({ signature }) => signature).toSorted(),
      )
      expect(
        outgoing.filter(({ state }) => state === 'planned' || state === 'signed'),
        say,
      ).toEqual([])
      expect(story.earned - story.sold >= 0n && story.earned - story.sold < threshold, say).toBe(true)
      for (const { about, signed } of booked) {
        const swap = story.swaps.find(({ signature }) => signature === signed?.signature)
        expect(parseConversion(about), say).toMatchObject({ sold: swap?.units, received: swap?.gives })
      }
      expect(story.heard.length, say).toBeLessThanOrEqual(landed.length)
      seen.landed += landed.length
      seen.dropped += outgoing.filter(({ state }) => state === 'dropped').length
      seen.attempts += outgoing.reduce((sum, { attempts }) => sum + attempts, 0)
    }
    // Stories in which nothing goes wrong prove nothing.
    expect(seen.landed).toBeGreaterThan(seeds)
    expect(seen.attempts).toBeGreaterThan(seen.landed * 1.1)
    expect(seen.dropped).toBeGreaterThan(0)
  })
})
