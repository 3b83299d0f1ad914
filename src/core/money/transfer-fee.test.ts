import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fuzzRuns } from '../../../tests/harness/length.ts'
import { maxUnits } from './money.ts'
import { computeFee, computeGross, type TransferFee } from './transfer-fee.ts'

const fee = (basisPoints: number, maximum = maxUnits): TransferFee => ({ basisPoints, maximum })
const anyFee = fc.record({
  basisPoints: fc.integer({ min: 0, max: 10_000 }),
  maximum: fc.oneof(fc.bigInt(0n, 10_000n), fc.bigInt(0n, maxUnits)),
})
const anyUnits = fc.oneof(fc.bigInt(0n, 100_000n), fc.bigInt(0n, maxUnits))

describe('feeOn', () => {
  it.each([
    [10_000n, fee(100), 100n],
    [10_001n, fee(100), 101n],
    [1n, fee(1), 1n],
    [0n, fee(10_000), 0n],
    [10_000n, fee(100, 99n), 99n],
    [maxUnits, fee(10_000), maxUnits],
  ])('of %s, at %o, is %s', (gross, rate, kept) => {
    expect(computeFee(gross, rate)).toBe(kept)
  })
})

describe('grossFor', () => {
  it.each([
    [10_000n, [], 10_000n],
    [10_000n, [fee(0)], 10_000n],
    [10_000n, [fee(100)], 10_102n],
    [10_000n, [fee(100, 5n)], 10_005n],
    [10_000n, [fee(100), fee(200)], 10_205n],
    [10_000n, [fee(10_000, 7n)], 10_007n],
    [0n, [fee(10_000, 7n)], 0n],
    [10_000n, [fee(10_000)], undefined],
    [maxUnits, [fee(1)], undefined],
    [maxUnits, [fee(0)], maxUnits],
  ])('%s arrives at %o when %s are sent', (net, fees, gross) => {
    expect(computeGross(net, fees)).toBe(gross)
  })

  it('is enough under every fee, and one less is not enough under some', () => {
    const property = (net: bigint, fees: readonly TransferFee[]) => {
      const arrives = (gross: bigint) => fees.every((one) => gross - computeFee(gross, one) >= net)
      const gross = computeGross(net, fees)
      if (gross === undefined) {
        expect(arrives(maxUnits)).toBe(false)
        return
      }
      expect(gross).toBeGreaterThanOrEqual(net)
      expect(gross).toBeLessThanOrEqual(maxUnits)
      expect(arrives(gross)).toBe(true)
      if (gross > net) expect(arrives(gross - 1n)).toBe(false)
    }
    fc.assert(fc.property(anyUnits, fc.array(anyFee, { maxLength: 3 }), property), { numRuns: fuzzRuns })
  })
})
