import { describe, expect, it } from 'vitest'
import { createCursors } from '../../src/api/analytics/cursor.ts'
import type { Outgoing } from '../../src/api/analytics/records.ts'
import { createStream } from '../../src/api/analytics/stream.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { PaymentListItem } from '../../src/core/payment/history.ts'
import type { SharedOut } from '../../src/core/payouts/ports/rewards.ts'
import { createChanges } from '../../src/paywall/runtime/changes.ts'
import { captureOf, createPaperBooks } from './books-model.ts'

const log = { info: () => {}, warn: () => {}, error: () => {} }
const cursors = createCursors(new Uint8Array(32).fill(7))

function createFixture({ beatMs = 15_000, lookMs = 60_000 } = {}) {
  const books = createPaperBooks()
  const changes = createChanges()
  const shared = new Map<string, SharedOut>()
  const outgoing: Outgoing = {
    rewards: { shared: async (txs) => txs.map((tx) => shared.get(encodeBase58(tx))) },
    transactions: { findByLockKeys: async (lanes) => lanes.map(() => undefined) },
  }
  const stream = createStream({ books, changes, log, cursors, decimalsOf: () => 6, outgoing, beatMs, lookMs })
  let isAllowed = true
  const open = (headers: Record<string, string> = {}) =>
    stream.open(new Request('http://localhost/analytics/stream', { headers }), async () => isAllowed)
  return {
    books,
    shared,
    stream,
    open,
    forbid: () => {
      isAllowed = false
    },
    pay: (capture: PaymentListItem) => {
      books.payments.push(capture)
      changes.note(encodeBase58(capture.tx))
    },
    change: (capture: PaymentListItem) => changes.note(encodeBase58(capture.tx)),
  }
}

/** Reads until the text is there, or the stream ends. */
async function readUntil(response: Response, isEnough: (text: string) => boolean): Promise<string> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!isEnough(text)) {
    const part = await reader?.read()
    if (!part || part.done) break
    text += decoder.decode(part.value)
  }
  reader?.releaseLock()
  return text
}

const recordsIn = (text: string) =>
  [...text.matchAll(/^data: (\{"id".*)$/gm)].map(([, json]) => JSON.parse(json ?? '') as Record<string, string>)

describe('the stream of payments', () => {
  it('T135: tells of payments as they happen, without their transaction', async () => {
    const fixture = createFixture()
    const response = fixture.open()
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-store')
    const capture = captureOf(1)
    fixture.pay(capture)
    const text = await readUntil(response, (sofar) => sofar.includes('event: payment'))
    const [record] = recordsIn(text)
    expect(record).toMatchObject({ requestId: 'request-1', status: 'Verified' })
    expect(text).toContain(`id: ${record?.['id']}\n`)
    expect(text).not.toContain(encodeBase58(capture.tx))
    expect(record).not.toHaveProperty('tx')
    fixture.stream.close()
  })

  it('tells of a payment again when it has changed, and not when it has not', async () => {
    const fixture = createFixture()
    const response = fixture.open()
    const capture = captureOf(1, { state: 'confirmed' })
    fixture.pay(capture)
    await readUntil(response, (sofar) => sofar.includes('"confirmed"'))
    fixture.change(capture)
    fixture.books.payments[0] = { ...capture, state: 'finalized' }
    fixture.change(capture)
    fixture.pay(captureOf(2))
    const text = await readUntil(response, (sofar) => sofar.includes('request-2'))
    expect(recordsIn(text).map(({ requestId, state }) => `${requestId} ${state}`)).toEqual([
      'request-1 finalized',
      'request-2 finalized',
    ])
    fixture.stream.close()
  })

  it('tells of a payment again when it was shared out', async () => {
    const fixture = createFixture({ lookMs: 10 })
    const response = fixture.open()
    const capture = captureOf(1)
    fixture.pay(capture)
    const before = await readUntil(response, (sofar) => sofar.includes('request-1'))
    fixture.shared.set(encodeBase58(capture.tx), { at: 1, units: 20_000n, why: '' })
    const after = await readUntil(response, (sofar) => sofar.includes('"0.02"'))
    expect([before, after].map((text) => recordsIn(text).map(({ shared }) => shared))).toEqual([[''], ['0.02']])
    fixture.stream.close()
  })

  it('reports changes of other servers', async () => {
    const fixture = createFixture({ lookMs: 10 })
    fixture.books.payments.push(captureOf(1))
    const response = fixture.open()
    await readUntil(response, (sofar) => sofar.includes('retry'))
    await new Promise((resolve) => setTimeout(resolve, 5))
    fixture.books.payments.push(captureOf(2))
    const text = await readUntil(response, (sofar) => sofar.includes('event: payment'))
    expect(recordsIn(text).map(({ requestId }) => requestId)).toEqual(['request-2'])
    fixture.stream.close()
  })

  it('goes on after the last that was heard, and rather tells something twice than not at all', async () => {
    const fixture = createFixture()
    for (let index = 0; index < 5; index += 1) fixture.books.payments.push(captureOf(index * 100))
    const response = fixture.open({ 'last-event-id': cursors.write(captureOf(200)) })
    const text = await readUntil(response, (sofar) => sofar.includes('request-400'))
    expect(recordsIn(text).map(({ requestId }) => requestId)).toEqual(['request-200', 'request-300', 'request-400'])
    fixture.stream.close()
  })

  it('begins anew with an id that it did not give', async () => {
    const fixture = createFixture()
    fixture.books.payments.push(captureOf(1))
    const response = fixture.open({ 'last-event-id': 'forged' })
    fixture.pay(captureOf(2))
    const text = await readUntil(response, (sofar) => sofar.includes('request-2'))
    expect(text).not.toContain('request-1')
    fixture.stream.close()
  })

  it('shows that it lives, and ends when its reader may no longer read', async () => {
    const fixture = createFixture({ beatMs: 10 })
    const response = fixture.open()
    expect(await readUntil(response, (sofar) => sofar.includes(': beat'))).toContain(': beat')
    fixture.forbid()
    await readUntil(response, () => false)
    const again = fixture.open()
    expect(again.status).toBe(200)
    fixture.stream.close()
  })

  it('ends for all listeners when the service stops, and accepts no new ones', async () => {
    const fixture = createFixture()
    const response = fixture.open()
    fixture.stream.close()
    await readUntil(response, () => false)
    const late = fixture.open()
    expect([late.status, await late.json()]).toMatchObject([503, { code: 'shutting_down' }])
  })

  it('says so where more was missed than can be told', async () => {
    const fixture = createFixture()
    for (let index = 0; index < 501; index += 1) fixture.books.payments.push(captureOf(index))
    const id = cursors.write(captureOf(0))
    const text = await readUntil(fixture.open({ 'last-event-id': id }), (sofar) => sofar.includes('event:'))
    expect(text).toContain('event: skipped')
    fixture.books.payments.pop()
    const later = createFixture()
    later.books.payments.push(...fixture.books.payments)
    const whole = await readUntil(later.open({ 'last-event-id': id }), (sofar) => sofar.includes('request-499'))
    expect(recordsIn(whole)).toHaveLength(500)
    for (const { stream } of [fixture, later]) stream.close()
  })

  it('T133: reads once for all listeners that resume after the same event', async () => {
    const fixture = createFixture()
    fixture.books.payments.push(captureOf(1))
    let looks = 0
    const { listPayments: captures } = fixture.books
    Object.assign(fixture.books, {
      listPayments: (query: Parameters<typeof captures>[0]) => {
        looks += query.order === 'oldest' ? 1 : 0
        return captures(query)
      },
    })
    const all = Array.from({ length: 50 }, () => fixture.open({ 'last-event-id': cursors.write(captureOf(1)) }))
    for (const response of all) await readUntil(response, (sofar) => sofar.includes('request-1'))
    expect(looks).toBe(1)
    fixture.stream.close()
  })

  it('T133: writes an event out once, and hands the same bytes to all', async () => {
    const fixture = createFixture()
    const readers = Array.from({ length: 50 }, () => fixture.open().body?.getReader())
    for (const reader of readers) await reader?.read()
    fixture.pay(captureOf(1))
    const parts = await Promise.all(readers.map(async (reader) => (await reader?.read())?.value))
    expect(new TextDecoder().decode(parts[0])).toContain('request-1')
    expect(new Set(parts).size).toBe(1)
    fixture.stream.close()
  })

  it('T133: a slow reader delays no other', async () => {
    const fixture = createFixture()
    const slow = fixture.open()
    const fast = fixture.open()
    for (let index = 0; index < 30; index += 1) {
      fixture.pay(captureOf(index))
      await readUntil(fast, (sofar) => sofar.includes(`request-${index}"`))
    }
    const late = await readUntil(slow, (sofar) => sofar.includes('request-29"'))
    expect(recordsIn(late)).toHaveLength(30)
    fixture.stream.close()
  })

  it('T133: has at most two thousand readers, and room again when one leaves', async () => {
    const fixture = createFixture()
    const all = Array.from({ length: 2_000 }, () => fixture.open())
    expect(all.every(({ status }) => status === 200)).toBe(true)
    const refused = fixture.open()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30'])
    expect(await refused.json()).toMatchObject({ code: 'stream_full' })
    await all[0]?.body?.cancel()
    expect(fixture.open().status).toBe(200)
    fixture.stream.close()
  })

  it('T133: disconnects a reader that does not read', async () => {
    const fixture = createFixture()
    fixture.open()
    for (let index = 0; index < 400; index += 1) fixture.books.payments.push(captureOf(index))
    for (let round = 0; round < 4; round += 1) {
      for (const [index, payment] of fixture.books.payments.entries()) {
        fixture.books.payments[index] = { ...payment, units: payment.units + 1n }
        fixture.change(payment)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
      await new Promise((resolve) => setTimeout(resolve, 50))
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const all = Array.from({ length: 2_000 }, () => fixture.open())
    expect(all.every(({ status }) => status === 200)).toBe(true)
    fixture.stream.close()
  })
})
