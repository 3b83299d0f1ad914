import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { splTokenProgram, token2022Program } from '../../core/money/tokens.ts'
import type { TransferOrder } from '../../core/payouts/outgoing-wallet.ts'
import { decodeTransaction, openTransaction } from '../read/decode.ts'
import { composeMessage, unsigned } from '../send/message.ts'
import { composeBatch, computePriorityFee, computeUnitsFor, fitInto } from './transfer-batch.ts'

const keyOf = (number: number) =>
  encodeBase58(Uint8Array.from({ length: 32 }, (_, index) => (number >> (8 * (index % 3))) & 255))
const wallet = keyOf(0x010203)
const lifetime = { blockhash: keyOf(0x040506), lastValidBlockHeight: 1 }
const mintOf = (tokenProgram: string) => ({ address: keyOf(0x070809), decimals: 9, tokenProgram })
const memo = `paystile:${'x'.repeat(22)}`

const compile = async (order: TransferOrder) =>
  unsigned(composeMessage((await composeBatch(order, wallet)).instructions, lifetime, wallet))
const orderOf = (opens: readonly boolean[], tokenProgram: string | undefined, text = memo): TransferOrder => ({
  mint: tokenProgram === undefined ? undefined : mintOf(tokenProgram),
  transfers: opens.map((one, index) => ({ owner: keyOf(0x100000 + index), units: BigInt(index + 1), opens: one })),
  memo: text,
})

describe('how many transfers fit', () => {
  it('is so many that one more would be too large, as the library compiles them', async () => {
    const programs = [splTokenProgram, token2022Program, undefined]
    const cases = fc.tuple(
      fc.array(fc.boolean(), { minLength: 1, maxLength: 24 }),
      fc.constantFrom(...programs),
      fc.integer({ min: 0, max: 300 }),
    )
    await fc.assert(
      fc.asyncProperty(cases, async ([opens, program, length]) => {
        const order = orderOf(opens, program, 'é'.repeat(length >> 1) + 'm'.repeat(length & 1))
        const count = fitInto(order)
        const some = async (most: number) => compile({ ...order, transfers: order.transfers.slice(0, most) })
        if (count > 0) expect(decodeTransaction(await some(count)).kind).toBe('transaction')
        if (count === opens.length) return
        const steps = 3 + opens.slice(0, count + 1).reduce((sum, one) => sum + (one && program ? 8 : 1), 0)
        if (steps <= 64) expect((await some(count + 1)).length).toBeGreaterThan(1_232)
      }),
      { numRuns: 120 },
    )
  })

  it.each([
    ['SPL Token', splTokenProgram, 18],
    ['Token-2022', token2022Program, 18],
    ['SOL', undefined, 19],
  ])('is as many of %s as can be hoped for', async (_name, program, count) => {
    expect(fitInto(orderOf(Array(40).fill(false), program))).toBe(count)
  })

  it('T155: leaves compute units for opening accounts, even pre-funded ones', () => {
    expect(fitInto(orderOf(Array(40).fill(true), splTokenProgram))).toBe(7)
  })

  it('does not depend on the recipients', () => {
    const order = orderOf(Array(40).fill(false), splTokenProgram)
    const same = order.transfers.map((one) => ({ ...one, owner: wallet }))
    expect(fitInto({ ...order, transfers: same })).toBe(fitInto(order))
  })

  it('is reckoned to the byte', async () => {
    for (const length of [127, 128, ...Array.from({ length: 12 }, (_, index) => 856 + index)]) {
      const order = orderOf([false], splTokenProgram, 'm'.repeat(length))
      expect([length, fitInto(order)]).toEqual([length, (await compile(order)).length <= 1_232 ? 1 : 0])
    }
  })

  it('is none beside a memo that fills the transaction', () => {
    expect(fitInto(orderOf([false], splTokenProgram, 'm'.repeat(900)))).toBe(0)
  })
})

describe('a batch', () => {
  it('has the memo right before the first transfer, and maps each instruction to its recipient', async () => {
    const batch = await composeBatch(orderOf([false, true, true], splTokenProgram), wallet)
    expect(batch.transferOf).toEqual([undefined, undefined, 1, 2, undefined, 0, 1, 2])
    expect(Buffer.from(batch.instructions[4]?.data ?? []).toString()).toBe(memo)
    expect(openTransaction(await compile(orderOf([false], undefined))).instructions).toHaveLength(4)
  })

  it('opens nothing for SOL', async () => {
    const batch = await composeBatch(orderOf([true], undefined), wallet)
    expect(batch.transferOf).toEqual([undefined, undefined, undefined, 0])
  })
})

describe('the price of priority', () => {
  it('is lowered until the fee is within its cap, and never below nothing', () => {
    const units = computeUnitsFor(orderOf(Array(17).fill(false), splTokenProgram))
    const feeAt = (price: bigint) => 5_000n + (price * BigInt(units) + 999_999n) / 1_000_000n
    expect(computePriorityFee(units, {})).toBe(10_000n)
    fc.assert(
      fc.property(fc.bigInt(5_000n, 20_000n), fc.nat(40), (cap, attempts) => {
        const wanted = computePriorityFee(units, {}, attempts)
        const price = computePriorityFee(units, { maxFeeLamports: cap }, attempts)
        expect(price).toBeLessThanOrEqual(wanted)
        expect(feeAt(price)).toBeLessThanOrEqual(cap)
        if (price < wanted) expect(feeAt(price + 10_000_000_000n / BigInt(units))).toBeGreaterThanOrEqual(cap)
      }),
    )
    expect(computePriorityFee(units, { maxFeeLamports: 1n })).toBe(0n)
  })

  it.each([
    [0, 10_000n],
    [1, 20_000n],
    [3, 80_000n],
    [7, 1_280_000n],
    [1_000, 1_280_000n],
  ])('after %i attempts is %s', (attempts, price) => {
    expect(computePriorityFee(60_000, {}, attempts)).toBe(price)
  })
})
