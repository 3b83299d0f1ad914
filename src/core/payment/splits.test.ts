import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeBase58 } from '../encoding/base58.ts'
import { maxUnits } from '../money/money.ts'
import { dividePrice, formatSplits, mostSplits, nameRecipientSet, parseSplits, type Split, sumParts } from './splits.ts'

const wallet = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(encodeBase58)
const split: fc.Arbitrary<Split> = fc.oneof(
  fc.record({ recipient: wallet, basisPoints: fc.bigInt(1n, 9_999n) }),
  fc.record({ recipient: wallet, units: fc.bigInt(1n, maxUnits) }),
)
const splits = fc.array(split, { maxLength: mostSplits })
const price = fc.oneof(fc.bigInt(1n, 1_000n), fc.bigInt(1n, maxUnits))

const [one = '', other = ''] = [1, 2].map((byte) => encodeBase58(new Uint8Array(32).fill(byte)))

describe('a divided price', () => {
  it('assigns every unit once, and no part is negative or empty', () => {
    fc.assert(
      fc.property(price, splits, (total, all) => {
        const divided = dividePrice(total, all)
        if (!divided) return
        expect(divided.own + sumParts(divided.parts)).toBe(total)
        expect(divided.own).toBeGreaterThan(0n)
        for (const { units } of divided.parts) expect(units).toBeGreaterThan(0n)
      }),
    )
  })

  it('gives each wallet at most its share, and less than one unit below it', () => {
    fc.assert(
      fc.property(price, fc.bigInt(1n, 9_999n), (total, basisPoints) => {
        const divided = dividePrice(total, [{ recipient: one, basisPoints }])
        const units = sumParts(divided?.parts ?? [])
        expect(units * 10_000n).toBeLessThanOrEqual(total * basisPoints)
        expect((units + 1n) * 10_000n).toBeGreaterThan(total * basisPoints)
      }),
    )
  })

  it('leaves something for the recipient if the shares are below the whole', () => {
    fc.assert(
      fc.property(price, fc.array(fc.bigInt(1n, 1_249n), { maxLength: mostSplits }), (total, shares) => {
        const all = shares.map((basisPoints) => ({ recipient: one, basisPoints }))
        expect(dividePrice(total, all)?.own).toBeGreaterThan(0n)
      }),
    )
  })

  it('rounds shares down and gives the rest to the recipient', () => {
    const all = [
      { recipient: one, basisPoints: 3_333n },
      { recipient: other, basisPoints: 3_333n },
    ]
    expect(dividePrice(10n, all)).toEqual({
      own: 4n,
      parts: [
        { recipient: one, units: 3n },
        { recipient: other, units: 3n },
      ],
    })
  })

  it('has no part for a share of less than one unit', () => {
    expect(dividePrice(9n, [{ recipient: one, basisPoints: 1_000n }])).toEqual({ own: 9n, parts: [] })
  })

  it.each([[5n], [6n]])('is undefined if an amount of %s leaves nothing of 5', (units) => {
    expect(dividePrice(5n, [{ recipient: one, units }])).toBeUndefined()
  })
})

describe('the text of splits', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.array(split, { minLength: 1, maxLength: mostSplits }), (all) => {
        expect(parseSplits(formatSplits(all))).toEqual(all)
      }),
    )
  })

  it.each(['x', `${one} share 0`, `${one} share 01`, `${one} part 1`, `${one} share 1\n`, `${one} share 1 `])(
    'is not %j',
    (text) => {
      expect(parseSplits(text)).toBeUndefined()
    },
  )
})

it('names sets of recipients by recipient, wallets, order and parts', () => {
  const share = (recipient: string, basisPoints: bigint): Split => ({ recipient, basisPoints })
  const recipientSets = [
    { recipient: one, splits: [] },
    { recipient: one, splits: [share(other, 1n)] },
    { recipient: one, splits: [share(other, 1n)], isCollected: true },
    { recipient: one, splits: [share(other, 2n)] },
    { recipient: one, splits: [{ recipient: other, units: 1n }] },
    { recipient: other, splits: [share(one, 1n)] },
    { recipient: one, splits: [share(other, 1n), share(one, 1n)] },
    { recipient: one, splits: [share(one, 1n), share(other, 1n)] },
  ]
  expect(new Set(recipientSets.map(nameRecipientSet)).size).toBe(recipientSets.length)
})
