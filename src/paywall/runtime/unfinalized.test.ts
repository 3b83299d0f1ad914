import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Exposure } from '../../core/ports/journal.ts'
import { mustBeFinal } from '../config/finality.ts'
import { createUnfinalizedPayments } from './unfinalized.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const one = (changes: Partial<Exposure> = {}): Exposure => ({
  recipient: 'shop',
  payer: 'payer',
  token: 'USDC',
  units: 10n,
  ...changes,
})
const limit = { recipient: { USDC: 100n, SOL: 1_000n }, payer: undefined }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function create(read: () => Promise<readonly Exposure[]>) {
  return createUnfinalizedPayments({ exposure: read }, quiet)
}

describe('the exposure book', () => {
  it('reads no sum without a limit', () => {
    const book = create(() => Promise.reject(new Error('not asked for')))
    expect(book.exceeds({ recipient: undefined, payer: undefined }, one({ units: 10n ** 18n }))).toBe(false)
  })

  it('calls everything too much while the sum is not known, and when it no longer is', async () => {
    let isBroken = false
    const book = create(async () => {
      if (isBroken) throw new Error('the ledger is away')
      return []
    })
    expect(book.exceeds(limit, one())).toBe(true)
    await vi.advanceTimersByTimeAsync(1)
    expect(book.exceeds(limit, one())).toBe(false)
    isBroken = true
    await vi.advanceTimersByTimeAsync(1_000)
    expect(book.exceeds(limit, one())).toBe(true)
    book.stop()
  })

  it('adds up tokens by their share of the limit, with the recent admissions of this server', async () => {
    const book = create(async () => [one({ units: 40n }), one({ token: 'SOL', units: 400n }), one({ recipient: 'x' })])
    book.exceeds(limit, one())
    await vi.advanceTimersByTimeAsync(1)
    expect(book.exceeds(limit, one({ units: 20n }))).toBe(false)
    expect(book.exceeds(limit, one({ units: 21n }))).toBe(true)
    book.add(one({ units: 15n }))
    expect(book.exceeds(limit, one({ units: 6n }))).toBe(true)
    // The next sum holds what was added before it was asked for.
    await vi.advanceTimersByTimeAsync(1_000)
    expect(book.exceeds(limit, one({ units: 20n }))).toBe(false)
    book.stop()
  })

  it('still counts an admission that came while the next sum was read', async () => {
    let answer = (_: readonly Exposure[]): void => {}
    const book = create(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    book.exceeds(limit, one())
    book.add(one({ units: 90n }))
    answer([])
    await vi.advanceTimersByTimeAsync(1)
    expect(book.exceeds(limit, one({ units: 10n }))).toBe(false)
    expect(book.exceeds(limit, one({ units: 11n }))).toBe(true)
    book.stop()
  })

  it('limits each payer by itself', async () => {
    const book = create(async () => [one({ units: 90n })])
    const each = { recipient: undefined, payer: { USDC: 100n } }
    book.exceeds(each, one())
    await vi.advanceTimersByTimeAsync(1)
    expect(book.exceeds(each, one({ units: 11n }))).toBe(true)
    expect(book.exceeds(each, one({ payer: 'another', units: 11n }))).toBe(false)
    book.stop()
  })

  it('has no limit for a token that cannot be compared, so that is too much', async () => {
    const book = create(async () => [])
    book.exceeds(limit, one())
    await vi.advanceTimersByTimeAsync(1)
    expect(book.exceeds(limit, one({ token: 'NATIVE', units: 1n }))).toBe(true)
    expect(book.exceeds({ recipient: { USDC: 0n }, payer: undefined }, one({ units: 1n }))).toBe(true)
    book.stop()
  })
})

it.each([
  ['below', 9n, false],
  ['at', 10n, true],
  ['above', 11n, true],
])('a price %s the limit', (_name, units, isFinal) => {
  const rule = { finalizedFrom: { USDC: 10n }, risk: { recipient: undefined, payer: undefined } }
  expect(mustBeFinal(rule, 'USDC', units)).toBe(isFinal)
  expect(mustBeFinal(rule, 'SOL', units)).toBe(true)
})
