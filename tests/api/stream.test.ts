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

function createDesk({ beatMs = 15_000, lookMs = 60_000 } = {}) {
  const books = createPaperBooks()
  const changes = createChanges()
  const shared = new Map<string, SharedOut>()
  const outgoing: Outgoing = {
    rewards: { shared: async (txs) => txs.map((tx) => shared.get(encodeBase58(tx))) },
    dispatches: { inLanes: async (lanes) => lanes.map(() => undefined) },
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
    const desk = createDesk()
    const response = desk.open()
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-store')
    const capture = captureOf(1)
    desk.pay(capture)
    const text = await readUntil(response, (sofar) => sofar.includes('event: payment'))
    const [record] = recordsIn(text)
    expect(record).toMatchObject({ requestId: 'request-1', status: 'Verified' })
    expect(text).toContain(`id: ${record?.['id']}\n`)
    expect(text).not.toContain(encodeBase58(capture.tx))
    expect(record).not.toHaveProperty('tx')
    desk.stream.close()
  })

  it('tells of a payment again when it has changed, and not when it has not', async () => {
    const desk = createDesk()
    const response = desk.open()
    const capture = captureOf(1, { state: 'confirmed' })
    desk.pay(capture)
    await readUntil(response, (sofar) => sofar.includes('"confirmed"'))
    desk.change(capture)
    desk.books.payments[0] = { ...capture, state: 'finalized' }
    desk.change(capture)
    desk.pay(captureOf(2))
    const text = await readUntil(response, (sofar) => sofar.includes('request-2'))
    expect(recordsIn(text).map(({ requestId, state }) => `${requestId} ${state}`)).toEqual([
      'request-1 finalized',
      'request-2 finalized',
    ])
    desk.stream.close()
  })

  it('tells of a payment again when it was shared out', async () => {
    const desk = createDesk({ lookMs: 10 })
    const response = desk.open()
    const capture = captureOf(1)
    desk.pay(capture)
    const before = await readUntil(response, (sofar) => sofar.includes('request-1'))
    desk.shared.set(encodeBase58(capture.tx), { at: 1, units: 20_000n, why: '' })
    const after = await readUntil(response, (sofar) => sofar.includes('"0.02"'))
    expect([before, after].map((text) => recordsIn(text).map(({ shared }) => shared))).toEqual([[''], ['0.02']])
    desk.stream.close()
  })

  it('tells of what other servers did', async () => {
    const desk = createDesk({ lookMs: 10 })
    desk.books.payments.push(captureOf(1))
    const response = desk.open()
    await readUntil(response, (sofar) => sofar.includes('retry'))
    await new Promise((resolve) => setTimeout(resolve, 5))
    desk.books.payments.push(captureOf(2))
    const text = await readUntil(response, (sofar) => sofar.includes('event: payment'))
    expect(recordsIn(text).map(({ requestId }) => requestId)).toEqual(['request-2'])
    desk.stream.close()
  })

  it('goes on after the last that was heard, and rather tells something twice than not at all', async () => {
    const desk = createDesk()
    for (let index = 0; index < 5; index += 1) desk.books.payments.push(captureOf(index * 100))
    const response = desk.open({ 'last-event-id': cursors.write(captureOf(200)) })
    const text = await readUntil(response, (sofar) => sofar.includes('request-400'))
    expect(recordsIn(text).map(({ requestId }) => requestId)).toEqual(['request-200', 'request-300', 'request-400'])
    desk.stream.close()
  })

  it('begins anew with an id that it did not give', async () => {
    const desk = createDesk()
    desk.books.payments.push(captureOf(1))
    const response = desk.open({ 'last-event-id': 'forged' })
    desk.pay(captureOf(2))
    const text = await readUntil(response, (sofar) => sofar.includes('request-2'))
    expect(text).not.toContain('request-1')
    desk.stream.close()
  })

  it('shows that it lives, and ends when its reader may no longer read', async () => {
    const desk = createDesk({ beatMs: 10 })
    const response = desk.open()
    expect(await readUntil(response, (sofar) => sofar.includes(': beat'))).toContain(': beat')
    desk.forbid()
    await readUntil(response, () => false)
    const again = desk.open()
    expect(again.status).toBe(200)
    desk.stream.close()
  })

  it('ends for all when the service stops, and begins for nobody', async () => {
    const desk = createDesk()
    const response = desk.open()
    desk.stream.close()
    await readUntil(response, () => false)
    const late = desk.open()
    expect([late.status, await late.json()]).toMatchObject([503, { code: 'shutting_down' }])
  })

  it('says so where more was missed than can be told', async () => {
    const desk = createDesk()
    for (let index = 0; index < 501; index += 1) desk.books.payments.push(captureOf(index))
    const id = cursors.write(captureOf(0))
    const text = await readUntil(desk.open({ 'last-event-id': id }), (sofar) => sofar.includes('event:'))
    expect(text).toContain('event: skipped')
    desk.books.payments.pop()
    const later = createDesk()
    later.books.payments.push(...desk.books.payments)
    const whole = await readUntil(later.open({ 'last-event-id': id }), (sofar) => sofar.includes('request-499'))
    expect(recordsIn(whole)).toHaveLength(500)
    for (const { stream } of [desk, later]) stream.close()
  })

  it('T133: looks once for all who come back after the same event', async () => {
    const desk = createDesk()
    desk.books.payments.push(captureOf(1))
    let looks = 0
    const { listPayments: captures } = desk.books
    Object.assign(desk.books, {
      listPayments: (query: Parameters<typeof captures>[0]) => {
        looks += query.order === 'oldest' ? 1 : 0
        return captures(query)
      },
    })
    const all = Array.from({ length: 50 }, () => desk.open({ 'last-event-id': cursors.write(captureOf(1)) }))
    for (const response of all) await readUntil(response, (sofar) => sofar.includes('request-1'))
    expect(looks).toBe(1)
    desk.stream.close()
  })

  it('T133: writes an event out once, and hands the same bytes to all', async () => {
    const desk = createDesk()
    const readers = Array.from({ length: 50 }, () => desk.open().body?.getReader())
    for (const reader of readers) await reader?.read()
    desk.pay(captureOf(1))
    const parts = await Promise.all(readers.map(async (reader) => (await reader?.read())?.value))
    expect(new TextDecoder().decode(parts[0])).toContain('request-1')
    expect(new Set(parts).size).toBe(1)
    desk.stream.close()
  })

  it('T133: lets nobody wait for a reader that is slow', async () => {
    const desk = createDesk()
    const slow = desk.open()
    const fast = desk.open()
    for (let index = 0; index < 30; index += 1) {
      desk.pay(captureOf(index))
      await readUntil(fast, (sofar) => sofar.includes(`request-${index}"`))
    }
    const late = await readUntil(slow, (sofar) => sofar.includes('request-29"'))
    expect(recordsIn(late)).toHaveLength(30)
    desk.stream.close()
  })

  it('T133: has at most two thousand readers, and room again when one leaves', async () => {
    const desk = createDesk()
    const all = Array.from({ length: 2_000 }, () => desk.open())
    expect(all.every(({ status }) => status === 200)).toBe(true)
    const refused = desk.open()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30'])
    expect(await refused.json()).toMatchObject({ code: 'stream_full' })
    await all[0]?.body?.cancel()
    expect(desk.open().status).toBe(200)
    desk.stream.close()
  })

  it('T133: lets go of who does not read', async () => {
    const desk = createDesk()
    desk.open()
    for (let index = 0; index < 400; index += 1) desk.books.payments.push(captureOf(index))
    for (let round = 0; round < 4; round += 1) {
      for (const [index, payment] of desk.books.payments.entries()) {
        desk.books.payments[index] = { ...payment, units: payment.units + 1n }
        desk.change(payment)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
      await new Promise((resolve) => setTimeout(resolve, 50))
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const all = Array.from({ length: 2_000 }, () => desk.open())
    expect(all.every(({ status }) => status === 200)).toBe(true)
    desk.stream.close()
  })
})
