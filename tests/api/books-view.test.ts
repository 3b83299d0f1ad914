import { describe, expect, it } from 'vitest'
import * as analyticsAnswers from '../../src/api/analytics/answers.ts'
import { createCursors } from '../../src/api/analytics/cursor.ts'
import { readPayerCursor } from '../../src/api/analytics/payers.ts'
import { type BooksParts, readAnalytics, readSeries } from '../../src/api/analytics/reports.ts'
import { readSummary } from '../../src/api/analytics/summary.ts'
import type { TokenCode } from '../../src/core/money/tokens.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'
import { captureOf, createPaperBooks } from './books-model.ts'

const cursors = createCursors(new Uint8Array(32).fill(7))
const noon = Date.parse('2026-03-01T12:00:00Z')
const hour = 3_600_000
const earned = (revenue: string) => ({ revenue, gross: revenue, refunded: '0' })
const nothing = earned('0')
const list = { order: 'latest', limit: 50 } as const

function createFixture(decimalsOf = (token: TokenCode): number | undefined => (token === 'USDC' ? 6 : 9)) {
  const books = createPaperBooks()
  const clock = { now: () => noon + hour / 2, monotonic: () => 0 }
  const parts: BooksParts = {
    books,
    journal: createReferenceLedger({ clock }).journal,
    clock,
    cursors,
    decimalsOf,
    flush: async () => {},
    nameOf: (requestId) => `hash of ${requestId}`,
    payerOf: (wallet) => `hash of ${wallet.length} bytes`,
    peek: async () => undefined,
  }
  return { books, parts }
}

describe('the summary', () => {
  it('has all three keys when nothing was ever sold', async () => {
    const summary = await readSummary(createFixture().parts, {})
    expect(analyticsAnswers.summary.parse(summary)).toEqual(summary)
    expect(summary).toMatchObject({
      totalRevenue: '0',
      currencyBreakdown: { NATIVE: '0', USDC: '0', SOL: '0' },
      topEndpoints: [],
      revenueToken: 'USDC',
      payments: 0,
      from: null,
      to: null,
    })
  })

  it('adds up the received amounts exactly, by token, and their value', async () => {
    const { books, parts } = createFixture()
    for (let index = 0; index < 10; index += 1) books.payments.push(captureOf(index, { units: 1n, worth: 1_000_000n }))
    books.payments.push(captureOf(10, { token: 'SOL', units: 1_234_567_890n, worth: 185_185_183_500_000n }))
    books.payments.push(captureOf(11, { token: 'NATIVE', units: 5n, worth: undefined }))
    const summary = await readSummary(parts, {})
    expect(summary.totalRevenue).toBe('185.1851935')
    expect(summary.currencyBreakdown).toEqual({ NATIVE: '0.000000005', USDC: '0.00001', SOL: '1.23456789' })
    expect([summary.payments, summary.unvalued]).toEqual([12, 1])
  })

  it('omits reverted and late payments', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(1), captureOf(2, { state: 'reverted', status: 'expired' }))
    books.payments.push(captureOf(3, { state: 'late', status: 'expired' }))
    books.payments.push(captureOf(4, { state: 'unclaimed', status: 'pending' }))
    expect(await readSummary(parts, {})).toMatchObject({ totalRevenue: '0.01', payments: 1, pending: 1 })
  })

  it('counts further uses of an allowance as calls, and sorts by revenue', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(1), captureOf(2), captureOf(3, { endpoint: '/api/b' }))
    const at = noon
    books.usages.push({ at, endpoint: '/api/b', event: 'reused', count: 7 })
    books.usages.push({ at, endpoint: '/api/c', event: 'challenged', count: 90 })
    books.usages.push({ at, endpoint: '/api/b', event: 'delivered', count: 8 })
    const summary = await readSummary(parts, {})
    expect(summary.topEndpoints).toEqual([
      { path: '/api/a', calls: 2, payments: 2, ...earned('0.02') },
      { path: '/api/b', calls: 8, payments: 1, ...earned('0.01') },
    ])
    expect(summary.funnel).toEqual({ challenged: 90, paid: 3, delivered: 3 })
  })

  it('counts the delivered payments of the period, never more than were paid', async () => {
    const { books, parts } = createFixture()
    // Delivered in the period, but paid before it.
    books.payments.push(captureOf(0, { at: noon - 1 }), captureOf(1), captureOf(2, { delivery: 'some' }))
    books.payments.push(captureOf(3, { delivery: 'none' }))
    books.usages.push({ at: noon, endpoint: '/api/a', event: 'delivered', count: 9 })
    const { funnel, previous } = await readSummary(parts, { from: noon, to: noon + hour })
    expect(funnel).toMatchObject({ paid: 3, delivered: 2 })
    expect(previous?.funnel).toMatchObject({ paid: 1, delivered: 1 })
    const view = { order: 'latest', limit: 1, view: ['usage'] } as const
    const { usage } = await readAnalytics(parts, { ...view, from: noon, to: noon + hour })
    expect(usage).toMatchObject([{ endpoint: '/api/a', payments: 3, delivered: 2, undelivered: 1 }])
  })

  it('compares with a period of the same length, or with the one that is asked for', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(0, { at: noon - 24 * hour }), captureOf(1, { at: noon - hour }), captureOf(2))
    const asked = { from: noon, to: noon + hour }
    expect((await readSummary(parts, asked)).previous).toMatchObject({ payments: 1 })
    const day = await readSummary(parts, { ...asked, before: noon - 24 * hour + 5 })
    expect(day).toMatchObject({ payments: 1, previous: { payments: 1 } })
    const none = await readSummary(parts, { ...asked, before: noon - 23 * hour })
    expect(none.previous).toMatchObject({ payments: 0 })
    // A longer month is not compared with a part of itself.
    const long = await readSummary(parts, { from: noon, to: noon + 9 * hour, before: noon - hour })
    expect(long).toMatchObject({ payments: 1, previous: { payments: 1 } })
  })

  it('widens a period to whole hours, and says so', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(0, { at: noon + 1 }), captureOf(1, { at: noon + hour }))
    const summary = await readSummary(parts, { from: noon + 1_000, to: noon + 2_000 })
    expect(summary).toMatchObject({
      from: '2026-03-01T12:00:00.000Z',
      to: '2026-03-01T13:00:00.000Z',
      payments: 1,
    })
  })

  it('invents no amount where the decimals of a token are not known', async () => {
    const { books, parts } = createFixture((token) => (token === 'NATIVE' ? undefined : 6))
    books.payments.push(captureOf(1, { token: 'NATIVE', units: 77n }))
    expect((await readSummary(parts, {})).currencyBreakdown).toEqual({ NATIVE: '', USDC: '0', SOL: '0' })
  })
})

describe('the list', () => {
  it('gives every payment once, page by page, in both orders', async () => {
    const { books, parts } = createFixture()
    // Several in one block.
    for (let index = 0; index < 23; index += 1) books.payments.push(captureOf(index, { at: noon + (index >> 2) }))
    for (const order of ['latest', 'oldest'] as const) {
      const seen: string[] = []
      let next: string | null | undefined
      do {
        const cursor = next ? cursors.read(next) : undefined
        const page = await readAnalytics(parts, { order, limit: 5, ...(cursor && { cursor }) })
        seen.push(...(page.records ?? []).map(({ requestId }) => requestId))
        next = page.next
      } while (next)
      expect([seen.length, new Set(seen).size]).toEqual([23, 23])
      expect(seen[0]).toBe(order === 'oldest' ? 'request-0' : 'request-22')
    }
  })

  it('goes by value, page by page, and in either order the payments without a value are last', async () => {
    const { books, parts } = createFixture()
    const unclaimed = { state: 'unclaimed', status: 'pending', worth: undefined } as const
    const worth = (value: bigint) => ({ worth: value * 10n ** 12n })
    // In the token of the values, an unclaimed payment has its amount as value. In SOL it has none.
    books.payments.push(captureOf(1, worth(3n)), captureOf(2, worth(1n)), captureOf(3, { ...unclaimed, token: 'SOL' }))
    books.payments.push(captureOf(4, worth(3n)), captureOf(5, { ...unclaimed, units: 2_000_000n }))
    const read = async (order: 'largest' | 'smallest', onPage = () => {}) => {
      const seen: string[] = []
      let next: string | null | undefined
      do {
        const cursor = next ? cursors.read(next) : undefined
        const page = await readAnalytics(parts, { order, limit: 2, ...(cursor && { cursor }) })
        expect(page.isCut).toBe(false)
        seen.push(...(page.records ?? []).map(({ requestId }) => requestId))
        next = page.next
        onPage()
      } while (next)
      return seen.map((name) => Number(name.replace('request-', '')))
    }
    expect(await read('largest')).toEqual([4, 1, 5, 2, 3])
    expect(await read('smallest')).toEqual([2, 5, 4, 1, 3])
    // A payment that arrives between two pages shifts nothing.
    let number = 10
    const pay = () => {
      number += 1
      books.payments.push(captureOf(number, worth(9n)))
    }
    expect(await read('largest', pay)).toEqual([4, 1, 5, 2, 3])
  })

  it('ranks the latest 2,000 payments by value, and says that there are more', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(0, { worth: 10n ** 15n }))
    for (let index = 1; index <= 2_000; index += 1) books.payments.push(captureOf(index))
    const read = (more = {}) => readAnalytics(parts, { order: 'largest', limit: 1, view: ['records'], ...more })
    expect(await read()).toMatchObject({ isCut: true, records: [{ requestId: 'request-2000' }] })
    const narrow = await read({ to: noon + 2_000_000 })
    expect(narrow).toMatchObject({ isCut: false, records: [{ requestId: 'request-0' }] })
    expect(analyticsAnswers.analytics.parse(narrow)).toEqual(narrow)
    expect(await readAnalytics(parts, list)).not.toHaveProperty('isCut')
  })

  it('T135: names no transaction, not even in its cursors', async () => {
    const { books, parts } = createFixture()
    for (let index = 0; index < 9; index += 1) books.payments.push(captureOf(index))
    const page = await readAnalytics(parts, { ...list, limit: 3 })
    expect(analyticsAnswers.analytics.parse(page)).toEqual(page)
    const text = JSON.stringify(page)
    for (const { tx } of books.payments) {
      expect(Buffer.from(page.next ?? '', 'base64url').includes(Buffer.from(tx.subarray(0, 16)))).toBe(false)
      expect(text).not.toContain(Buffer.from(tx).toString('base64url').slice(0, 20))
    }
    expect(Object.keys(page.records?.[0] ?? {})).not.toContain('tx')
  })

  it('comes with usage, revenue and tokens on its first page, and alone on those that follow', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(1), captureOf(2, { token: 'SOL', units: 1_000_000n, worth: 30_000_000_000n }))
    books.usages.push({ at: noon, endpoint: '/api/a', event: 'refused', count: 2 })
    const page = await readAnalytics(parts, list)
    expect(page.tokens).toEqual([
      { token: 'NATIVE', payments: 0, received: '0', sentBack: '0', ...nothing, unvalued: 0, share: '0' },
      { token: 'USDC', payments: 1, received: '0.01', sentBack: '0', ...earned('0.01'), unvalued: 0, share: '0.25' },
      { token: 'SOL', payments: 1, received: '0.001', sentBack: '0', ...earned('0.03'), unvalued: 0, share: '0.75' },
    ])
    expect(page.revenue).toMatchObject([{ endpoint: '/api/a', payments: 2, revenue: '0.04' }])
    expect(page.usage).toMatchObject([{ endpoint: '/api/a', calls: 2, refused: 2, challenged: 0 }])
    const next = await readAnalytics(parts, { ...list, cursor: captureOf(2) })
    expect(Object.keys(next)).toEqual(['revenueToken', 'from', 'to', 'records', 'next'])
    const tokens = await readAnalytics(parts, { ...list, view: ['tokens'] })
    expect(Object.keys(tokens)).toEqual(['revenueToken', 'from', 'to', 'tokens'])
  })

  it('spells the status both ways', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(1, { status: 'pending', state: 'unclaimed', delivery: 'none' }))
    const { records } = await readAnalytics(parts, list)
    expect(records).toMatchObject([
      { status: 'Pending', verification: 'pending', state: 'unclaimed', delivery: 'none' },
    ])
  })
})

describe('the series', () => {
  it('has a point for every hour of the last day, also where nothing was sold', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(1), captureOf(2, { at: noon - 5 * hour, token: 'SOL', units: 1n, worth: undefined }))
    const reading = await readSeries(parts, { step: 'hour' })
    const series = analyticsAnswers.series.parse(reading.kind === 'series' ? reading.series : {})
    expect([series.points.length, series.to]).toEqual([24, '2026-03-01T13:00:00.000Z'])
    expect(series.points.filter(({ payments }) => payments > 0)).toEqual([
      {
        at: '2026-03-01T07:00:00.000Z',
        payments: 1,
        ...nothing,
        unvalued: 1,
        received: { NATIVE: '0', USDC: '0', SOL: '0.000000001' },
        sentBack: { NATIVE: '0', USDC: '0', SOL: '0' },
      },
      {
        at: '2026-03-01T12:00:00.000Z',
        payments: 1,
        ...earned('0.01'),
        unvalued: 0,
        received: { NATIVE: '0', USDC: '0.01', SOL: '0' },
        sentBack: { NATIVE: '0', USDC: '0', SOL: '0' },
      },
    ])
  })

  it('goes by whole days', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(1), captureOf(2, { at: noon - 24 * hour }))
    const reading = await readSeries(parts, { step: 'day', from: noon - 30 * hour })
    const { points } = analyticsAnswers.series.parse(reading.kind === 'series' ? reading.series : {})
    expect(points.map(({ at, payments }) => [at, payments])).toEqual([
      ['2026-02-28T00:00:00.000Z', 1],
      ['2026-03-01T00:00:00.000Z', 1],
    ])
  })

  it('suggests a coarser step instead of more than 2,000 points', async () => {
    const { parts } = createFixture()
    const ask = (hours: number) => readSeries(parts, { step: 'hour', from: noon - hours * hour, to: noon })
    expect((await ask(2_000)).kind).toBe('series')
    expect(await ask(2_001)).toEqual({
      kind: 'too_long',
      why: 'the period has 2001 points; request at most 2000 hours, or for step=day',
    })
    expect(await readSeries(parts, { step: 'day', from: 0, to: noon })).toMatchObject({ kind: 'too_long' })
  })
})

it('the cursor of the payer list may name a payer with more refunds than payments', () => {
  expect(readPayerCursor(cursors, '-12~payer-1')).toEqual({ worth: -12n, payer: 'payer-1' })
  expect(readPayerCursor(cursors, '--12~payer-1')).toBeUndefined()
})
