/** The pages of one endpoint and of one payer, the sums of a list, and the search by parts of names. */
import { describe, expect, it } from 'vitest'
import * as analyticsAnswers from '../../src/api/analytics/answers.ts'
import { createCursors } from '../../src/api/analytics/cursor.ts'
import { pageQuery } from '../../src/api/analytics/queries.ts'
import { type BooksParts, readAnalytics } from '../../src/api/analytics/reports.ts'
import * as screenAnswers from '../../src/api/screens/answers.ts'
import { readEndpointPage, readPayerPage } from '../../src/api/screens/drill-down.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { CatalogEntry } from '../../src/paywall/runtime/catalog.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'
import { captureOf, createPaperBooks } from './books-model.ts'

const noon = Date.parse('2026-03-01T12:00:00Z')
const hour = 3_600_000
const day = 24 * hour
const list = { order: 'latest', limit: 50 } as const
const moon: CatalogEntry = {
  methods: ['GET'],
  path: '/api/a',
  price: '0.01',
  token: 'USDC',
  per: { unit: 'request', amount: 1 },
  acceptedMints: ['USDC'],
  mints: {},
  recipient: 'the recipient',
  description: undefined,
  reopen: undefined,
  scope: 'a',
  isPaused: () => false,
  hasPage: true,
}

function createFixture() {
  const books = createPaperBooks()
  const clock = { now: () => noon + hour / 2, monotonic: () => 0 }
  const parts: BooksParts & Parameters<typeof readEndpointPage>[0] = {
    books,
    journal: createReferenceLedger({ clock }).journal,
    clock,
    cursors: createCursors(new Uint8Array(32).fill(7)),
    decimalsOf: (token) => (token === 'USDC' ? 6 : 9),
    flush: async () => {},
    nameOf: (requestId) => `hash of ${requestId}`,
    payerOf: (wallet) => `hash of ${wallet.length} bytes`,
    peek: async () => undefined,
    catalog: { entries: () => [moon, { ...moon, path: '/api/b' }] },
  }
  return { books, parts }
}

describe('the page of an endpoint', () => {
  it('has its price, its sums beside the period before, its uses and its latest payments', async () => {
    const { books, parts } = createFixture()
    books.payments.push(captureOf(1), captureOf(2, { token: 'SOL', worth: 5_000_000_000n }))
    books.payments.push(captureOf(3, { at: noon - 3 * hour }), captureOf(4, { endpoint: '/api/b' }))
    const use = (event: 'free' | 'refused', at: number, count: number, endpoint = '/api/a') =>
      books.usages.push({ at, endpoint, event, count })
    use('free', noon, 7)
    use('refused', noon, 2)
    use('refused', noon - 2 * hour, 1)
    use('refused', noon, 90, '/api/b')
    const reading = await readEndpointPage(parts, { endpoint: '/api/a', from: noon - hour, to: noon + hour })
    const page = screenAnswers.endpointPage.parse(reading.kind === 'page' ? reading.page : undefined)
    expect(page).toMatchObject({
      offers: [{ path: '/api/a', price: '0.01' }],
      summary: {
        payments: 2,
        revenue: '0.015',
        usage: { free: 7, refused: 2, challenged: 0 },
        previous: { payments: 1, revenue: '0.01', usage: { free: 0, refused: 1 } },
      },
      step: 'hour',
      points: [{ at: '2026-03-01T12:00:00.000Z', payments: 2, revenue: '0.015' }],
      before: { from: '2026-03-01T09:00:00.000Z', to: '2026-03-01T11:00:00.000Z', points: [{ payments: 1 }] },
    })
    expect(page.tokens.map(({ token, payments }) => [token, payments])).toEqual([
      ['USDC', 1],
      ['SOL', 1],
    ])
    expect(page.records.map(({ token }) => token)).toEqual(['SOL', 'USDC', 'USDC'])
  })

  it('is empty for an endpoint that was never paid and is not sold', async () => {
    const reading = await readEndpointPage(createFixture().parts, { endpoint: '/never' })
    const page = screenAnswers.endpointPage.parse(reading.kind === 'page' ? reading.page : undefined)
    expect(page).toMatchObject({ offers: [], points: [], tokens: [], records: [], summary: { revenue: '0' } })
  })

  it.each([
    [
      'an endpoint',
      (parts: ReturnType<typeof createFixture>['parts'], ends: object) =>
        readEndpointPage(parts, { endpoint: '/api/a', ...ends }),
    ],
    [
      'a payer',
      (parts: ReturnType<typeof createFixture>['parts'], ends: object) =>
        readPayerPage(parts, { payer: 'payer-1', ...ends }),
    ],
  ] as const)('refuses a period of %s that is too long', async (_name, read) => {
    const { parts } = createFixture()
    expect((await read(parts, { from: noon - 366 * day, to: noon - day })).kind).toBe('page')
    expect(await read(parts, { from: noon - 400 * day, to: noon })).toMatchObject({ kind: 'too_long' })
  })
})

describe('the page of a payer', () => {
  it('has whole days, its first and last payment of all time, and only its own', async () => {
    const { books, parts } = createFixture()
    const own = { payer: 'payer-1' }
    books.payments.push(captureOf(1, { ...own, at: noon - 40 * day }), captureOf(2, { ...own, at: noon - day }))
    books.payments.push(captureOf(3, own), captureOf(4, { payer: 'payer-2' }))
    const reading = await readPayerPage(parts, { payer: 'payer-1', from: noon - hour, to: noon + hour })
    const page = screenAnswers.payerPage.parse(reading.kind === 'page' ? reading.page : undefined)
    expect(page).toMatchObject({
      first: '2026-01-20T12:00:00.000Z',
      last: '2026-03-01T12:00:03.000Z',
      summary: { from: '2026-03-01T00:00:00.000Z', to: '2026-03-02T00:00:00.000Z', payments: 1, revenue: '0.01' },
      step: 'day',
      points: [{ at: '2026-03-01T00:00:00.000Z', payments: 1 }],
      before: { points: [{ at: '2026-02-28T00:00:00.000Z', payments: 1 }] },
    })
    expect(page.summary.previous).toMatchObject({ payments: 1 })
    expect(page.records).toHaveLength(3)
  })
})

describe('the list', () => {
  it('sums all of its pages, with its filters, and names the endpoints and tokens', async () => {
    const { books, parts } = createFixture()
    for (let number = 0; number < 9; number += 1) books.payments.push(captureOf(number))
    books.payments.push(captureOf(9, { endpoint: '/api/b', token: 'SOL', units: 3n, worth: undefined }))
    const seen = { status: 'pending', state: 'unclaimed', worth: undefined, units: 8_000n, delivery: 'none' } as const
    books.payments.push(captureOf(10, { ...seen, payer: '', fault: 'underpaid' }))
    books.payments.push(captureOf(11, { ...seen, payer: '', fault: 'not_on_chain' }))
    const read = async (query: object) =>
      analyticsAnswers.analytics.parse(
        await readAnalytics(parts, { ...list, limit: 2, view: ['records', 'totals', 'names'], ...query }),
      )
    const all = await read({})
    expect(all.records).toHaveLength(2)
    expect(all.totals).toEqual({
      payments: 10,
      unaccepted: 1,
      notOnChain: 1,
      isCut: false,
      worth: '0.09',
      refunded: '0',
      unvalued: 1,
      received: { NATIVE: '0', USDC: '0.09', SOL: '0.000000003' },
    })
    expect(all.records?.map(({ problem, amount }) => [problem, amount])).toEqual([
      ['not_on_chain', ''],
      ['underpaid', '0.008'],
    ])
    const byValue = (await read({ order: 'smallest', limit: 12 })).records?.map(({ problem }) => problem)
    expect([byValue?.[0], ...(byValue?.slice(-2) ?? [])]).toEqual(['underpaid', 'not_on_chain', ''])
    expect(all.names).toEqual({ endpoints: ['/api/a', '/api/b'], tokens: ['NATIVE', 'USDC', 'SOL'] })
    expect((await read({ payer: 'payer-1' })).totals).toMatchObject({ payments: 3, worth: '0.03' })
    expect((await read({ q: 'payer-1' })).totals).toMatchObject({ payments: 3 })
    expect((await read({ q: 'nobody' })).totals).toMatchObject({ payments: 0 })
    // Programs that ask for no view get the parts of earlier versions.
    expect(Object.keys(await readAnalytics(parts, list))).not.toContain('totals')
  })

  it('finds payers by the first characters of their pseudonym, or by both ends', async () => {
    const { books, parts } = createFixture()
    for (const [number, payer] of ['Abcdef-1', 'Abcdef-2', 'abcdef-1'].entries())
      books.payments.push(captureOf(number, { payer }), captureOf(number + 10, { payer }))
    const payersOf = async (q: string) =>
      ((await readAnalytics(parts, { ...list, q })).records ?? []).map(({ payer }) => payer)
    expect(await payersOf('Abcd')).toEqual(['Abcdef-2', 'Abcdef-1', 'Abcdef-2', 'Abcdef-1'])
    expect(await payersOf('Abcd…-1')).toEqual(['Abcdef-1', 'Abcdef-1'])
    expect(await payersOf('Abcd...-2')).toEqual(['Abcdef-2', 'Abcdef-2'])
    expect(await payersOf('Abc')).toEqual([])
    const paged = await readAnalytics(parts, { ...list, q: 'Abcd', limit: 3 })
    const cursor = parts.cursors.read(paged.next ?? '')
    const rest = await readAnalytics(parts, { ...list, q: 'Abcd', ...(cursor && { cursor }) })
    expect([paged.records, rest.records].map((records) => records?.length)).toEqual([3, 1])
  })

  it('T190: finds a part of a transaction only for a reader who may know transactions', async () => {
    const { books, parts } = createFixture()
    const tx = new Uint8Array(64).fill(201)
    books.payments.push(captureOf(1, { tx }), captureOf(2, { tx: new Uint8Array(64).fill(90) }))
    const text = encodeBase58(tx)
    const count = async (q: string, isOwner: boolean) =>
      (await readAnalytics(parts, { ...list, q }, isOwner)).records?.length
    for (const q of [text.slice(0, 4), text.slice(0, 30), `${text.slice(0, 6)}…${text.slice(-4)}`]) {
      expect([q, await count(q, true)]).toEqual([q, 1])
      expect([q, await count(q, false)]).toEqual([q, 0])
    }
    expect(await count(text, false)).toBe(1)
  })

  it.each(['%', 'a b', '…abcd', 'ab…cd', 'abcd…ef…gh', '<b>'])('refuses the search %j', (q) => {
    expect(pageQuery(() => undefined).safeParse({ q }).success).toBe(false)
  })

  it.each([
    ['records', ['records']],
    ['records,totals,names', ['records', 'totals', 'names']],
    ['recods', undefined],
    ['records,', undefined],
  ])('reads the view %j', (view, expected) => {
    expect(pageQuery(() => undefined).safeParse({ view }).data?.view).toEqual(expected)
  })
})
