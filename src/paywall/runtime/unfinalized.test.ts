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

/** Without a limit of its own. */
function admit(book: ReturnType<typeof create>, payment: Exposure): void {
  const claim = {}
  expect(book.reserve(claim, 'tx', { recipient: undefined, payer: undefined }, payment)).toBe(true)
  book.release(claim, 'tx', true)
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
    admit(book, one({ units: 15n }))
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
    admit(book, one({ units: 90n }))
    answer([])
    await vi.advanceTimersByTimeAsync(1)
    expect(book.exceeds(limit, one({ units: 10n }))).toBe(false)
    expect(book.exceeds(limit, one({ units: 11n }))).toBe(true)
    book.stop()
  })

  it('T212: counts a payment from its check on, and no longer if it was not registered', async () => {
    const book = create(async () => [])
    book.exceeds(limit, one())
    await vi.advanceTimersByTimeAsync(1)
    const [first, second] = [{}, {}]
    expect(book.reserve(first, 'a', limit, one({ units: 60n }))).toBe(true)
    expect(book.reserve(second, 'b', limit, one({ units: 60n }))).toBe(false)
    // The ledger has it later than the next sum.
    await vi.advanceTimersByTimeAsync(1_000)
    expect(book.reserve(second, 'b', limit, one({ units: 60n }))).toBe(false)
    book.release(first, 'a', false)
    book.release(first, 'a', false)
    expect(book.reserve(second, 'b', limit, one({ units: 100n }))).toBe(true)
    book.release(second, 'b', true)
    expect(book.exceeds(limit, one({ units: 1n }))).toBe(true)
    book.stop()
  })

  it.each([
    [[true, false], 40n],
    [[false, true], 40n],
    [[false, false], 100n],
  ])('T212: counts several claims of one transaction once: registered %j', async (registered, left) => {
    const book = create(async () => [])
    book.exceeds(limit, one())
    await vi.advanceTimersByTimeAsync(1)
    const claims = registered.map(() => ({}))
    for (const claim of claims) expect(book.reserve(claim, 'a', limit, one({ units: 60n }))).toBe(true)
    expect(book.exceeds(limit, one({ units: 40n }))).toBe(false)
    for (const [index, claim] of claims.entries()) book.release(claim, 'a', registered[index] === true)
    expect(book.exceeds(limit, one({ units: left }))).toBe(false)
    expect(book.exceeds(limit, one({ units: left + 1n }))).toBe(true)
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
