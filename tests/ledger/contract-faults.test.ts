/** What every ledger promises, whatever keeps it, when it is closed, lost in time, or asked nonsense. */
import { describe, expect, it } from 'vitest'
import type { Ledger, PaymentRecord, Take } from '../../src/core/ports/ledger.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import { useDesk } from './grants-fixture.ts'
import { againOf, createPayment, leaseMs, takeOf } from './payments.ts'
import { stores } from './stores.ts'

/** A call on everything that is kept beside the payments. */
function besidePayments({ journal, books, kv, events: notices }: Ledger): readonly (() => Promise<unknown>)[] {
  if (!journal || !books || !kv || !notices) throw new Error('this ledger keeps nothing but payments')
  const { tx } = createPayment()
  const period = { from: 0, to: 3_600_000 }
  return [
    () => journal.sight([]),
    () => journal.conclude([{ tx, finality: 'reverted' }]),
    () => books.sums({}),
    () => books.endpoints({}, 1),
    () => books.series({ ...period, step: 'hour' }),
    () => books.listPayments({ order: 'latest', most: 1 }),
    () => books.findPayment(tx),
    () => books.count([{ at: 0, endpoint: '', event: 'free', count: 1 }]),
    () => books.usage({}),
    () => books.audit(),
    () => books.rebuild('SOL'),
    () => books.reportToken(),
    () => kv.put('a', '', Number.MAX_SAFE_INTEGER),
    () => kv.get('a'),
    () => kv.remove('a'),
    () => kv.list('a'),
    () => notices.start(),
    () => notices.sweep(1),
    () => notices.take('', 1, 1),
    () => notices.told('a'),
    () => notices.failed('a', '', undefined),
    () => notices.list({ most: 1 }),
    () => notices.resend('a'),
  ]
}

describe.each(stores)('the %s ledger', (_name, open) => {
  const desk = useDesk(open)

  it('T119: answers nothing once it is closed', async () => {
    const payment = createPayment()
    const grant = await desk.grantOf(takeOf(payment))
    await desk.ledger.close()
    await desk.ledger.close()
    const calls = [
      () => desk.ledger.peek(payment.tx),
      () => desk.ledger.take(takeOf(payment)),
      () => desk.ledger.renew(grant, leaseMs),
      () => desk.ledger.advance(grant, 1n, 1n),
      () => desk.ledger.end(grant, 'delivered', 1n),
      () => desk.ledger.recordLate(createPayment()),
      ...besidePayments(desk.ledger),
    ]
    for (const call of calls) await expect(call()).rejects.toThrow(LedgerUnavailable)
  })

  it('T168: answers nothing while the time is unknown', async () => {
    const payment = createPayment()
    desk.clock.advance(Number.NaN)
    await expect(desk.ledger.take(takeOf(payment))).rejects.toThrow(LedgerUnavailable)
    await expect(desk.ledger.peek(payment.tx)).rejects.toThrow(LedgerUnavailable)
  })

  it.each<[string, (payment: PaymentRecord) => Take]>([
    ['63 bytes of a signature', (payment) => againOf({ ...payment, tx: payment.tx.subarray(1) })],
    ['a take of nothing', (payment) => takeOf(payment, { amount: 0n })],
    ['a take of less than nothing', (payment) => takeOf(payment, { amount: -1n })],
    ['a lease of no time', (payment) => takeOf(payment, { leaseMs: 0 })],
    ['a lease of unknown time', (payment) => takeOf(payment, { leaseMs: Number.NaN })],
    ['a lease without end', (payment) => takeOf(payment, { leaseMs: Number.POSITIVE_INFINITY })],
    ['the record of another request', (payment) => takeOf(payment, { request: 'request-2' })],
    ['the record of another transaction', (payment) => takeOf(payment, { tx: createPayment().tx })],
    ['an empty allowance', (payment) => takeOf({ ...payment, allowance: { unit: 'request', amount: 0n } })],
    [
      'an allowance beyond 63 bits',
      (payment) => takeOf({ ...payment, allowance: { unit: 'byte', amount: 2n ** 63n } }),
    ],
    ['money beyond 64 bits', (payment) => takeOf({ ...payment, received: 2n ** 64n })],
    ['less than no money', (payment) => takeOf({ ...payment, required: -1n })],
    ['a time that is no number', (payment) => takeOf({ ...payment, usableUntil: Number.NaN })],
    ['a worth beyond belief', (payment) => takeOf({ ...payment, worth: 10n ** 24n + 1n })],
    ['a worth of less than nothing', (payment) => takeOf({ ...payment, worth: -1n })],
    ['half a slot', (payment) => takeOf({ ...payment, slot: 0.5 })],
  ])('throws on %s, and keeps nothing of it', async (_case, ask) => {
    const payment = createPayment()
    await expect(desk.ledger.take(ask(payment))).rejects.toThrow(RangeError)
    expect(await desk.ledger.peek(payment.tx)).toBeUndefined()
  })

  it('throws on ends and renewals that make no sense, and changes nothing', async () => {
    const payment = createPayment()
    const grant = await desk.grantOf(takeOf(payment))
    await expect(desk.ledger.end(grant, 'delivered', -1n)).rejects.toThrow(RangeError)
    await expect(desk.ledger.renew(grant, -1)).rejects.toThrow(RangeError)
    await expect(desk.ledger.recordLate({ ...payment, slot: -0.5 })).rejects.toThrow(RangeError)
    expect(await desk.ledger.end(grant, 'delivered', 1n)).toBe(true)
  })

  it('never writes when it peeks', async () => {
    const payment = createPayment()
    const grant = await desk.grantOf(takeOf(payment))
    desk.clock.advance(leaseMs)
    expect(await desk.stateOf(payment)).toBe('open')
    expect(await desk.ledger.end(grant, 'delivered', 1n)).toBe(true)
    expect(await desk.ledger.peek(createPayment().tx)).toBeUndefined()
  })
})
