/** A payment that goes back: nothing can be taken of it any more, unless the refund is given up. The same in every store. */
import { describe, expect, it } from 'vitest'
import type { OutgoingTransaction, PlannedTransaction } from '../../src/core/payouts/ports/outgoing.ts'
import type { PaymentRecord } from '../../src/core/ports/ledger.ts'
import { useDesk } from './grants-fixture.ts'
import { bytes, dispatchesOf, plannedBy, planOf } from './payables-fixture.ts'
import { againOf, createPayment, leaseMs, startOfTests, takeOf } from './payments.ts'
import { stores } from './stores.ts'

describe.each(stores)('a refund of the %s ledger that makes a payment void', (_name, open) => {
  const desk = useDesk(open)
  const dispatches = () => dispatchesOf(desk.ledger)
  const plan = (changes: Partial<PlannedTransaction> = {}) => dispatches().plan(planOf(changes))
  const landed = async ({ id, version }: OutgoingTransaction) => {
    await dispatches().sign(id, version, bytes)
    return (await dispatches().land(id, version + 1, 7)) ?? expect.fail('not landed')
  }
  const refund = (payment: Pick<PaymentRecord, 'tx'>, lockKey = 'refund:1') =>
    plan({ kind: 'refund', lockKey, voids: payment.tx })
  const problems = async () => (await desk.books().problems({ most: 10 })).map(({ kind }) => kind)

  it('is not planned while it is delivered, nor once it was used', async () => {
    const payment = await desk.registered()
    expect((await refund(payment)).kind).toBe('in_use')
    desk.clock.advance(leaseMs)
    await desk.use(againOf(payment), 'partial')
    expect((await refund(payment)).kind).toBe('in_use')
    const [settled, file] = [createPayment(), createPayment({ allowance: { unit: 'file', amount: 9n } })]
    await desk.use(takeOf(settled), 'delivered')
    await desk.use(takeOf(file), 'partial')
    const hour = await desk.registered({ allowance: { unit: 'second', amount: 1n } })
    const gone = await desk.registered()
    await desk.journal().conclude([{ tx: gone.tx, finality: 'reverted' }])
    desk.clock.advance(leaseMs)
    for (const one of [settled, file, hour, gone]) expect((await refund(one)).kind).toBe('in_use')
    expect(await dispatches().open()).toEqual([])
  })

  it('T188: is planned for a used payment if it covers that, but not during a delivery, nor twice', async () => {
    const cover = (payment: Pick<PaymentRecord, 'tx'>, lockKey = 'refund:1') =>
      plan({ kind: 'refund', lockKey, voids: payment.tx, coversUse: true })
    const bundle = createPayment({ allowance: { unit: 'request', amount: 5n }, finality: 'finalized' })
    await desk.use(takeOf(bundle), 'delivered')
    await desk.grantOf(againOf(bundle))
    expect((await cover(bundle)).kind).toBe('in_use')
    desk.clock.advance(leaseMs)
    const first = plannedBy(await cover(bundle))
    // Nothing of the four requests that are left can be had any more.
    expect(await desk.kindOf(againOf(bundle))).toBe('spent')
    expect((await cover(bundle)).kind).toBe('taken')
    expect((await cover(bundle, 'refund:2')).kind).toBe('in_use')
    expect((await refund(bundle, 'refund:2')).kind).toBe('in_use')
    await dispatches().drop(first.id, 1, 'no')
    expect(await desk.kindOf(againOf(bundle))).toBe('granted')
    desk.clock.advance(leaseMs)
    await landed(plannedBy(await cover(bundle)))
    expect((await cover(bundle)).kind).toBe('taken')
    expect((await cover(bundle, 'refund:2')).kind).toBe('in_use')
    expect(await desk.kindOf(againOf(bundle))).toBe('spent')
    const [file, hour] = [
      createPayment({ allowance: { unit: 'file', amount: 9n } }),
      await desk.registered({ allowance: { unit: 'second', amount: 60n } }),
    ]
    await desk.use(takeOf(file), 'partial')
    const gone = await desk.registered()
    await desk.journal().conclude([{ tx: gone.tx, finality: 'reverted' }])
    desk.clock.advance(leaseMs)
    for (const one of [file, hour]) {
      expect((await cover(one, `refund:${one.tx}`)).kind).toBe('planned')
      expect(await desk.kindOf(againOf(one))).toBe('spent')
    }
    expect((await cover(gone, 'refund:3')).kind).toBe('in_use')
    await expect(plan({ kind: 'refund', lockKey: 'refund:4', coversUse: true })).rejects.toThrow(RangeError)
  })

  it('blocks all grants, also lapsed ones, until it is dropped', async () => {
    const payment = createPayment({ finality: 'finalized' })
    const grant = await desk.grantOf(takeOf(payment))
    const free = createPayment()
    await desk.use(takeOf(free), 'no_body', 0n)
    desk.clock.advance(leaseMs)
    const dispatch = plannedBy(await refund(payment))
    expect((await refund(payment)).kind).toBe('taken')
    expect((await refund(payment, 'refund:2')).kind).toBe('in_use')
    expect((await refund(free, 'refund:3')).kind).toBe('planned')
    expect(await desk.kindOf(againOf(payment))).toBe('spent')
    expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    expect(await desk.kindOf(takeOf({ ...payment, request: 'request-2' }))).toBe('foreign')
    expect(await desk.ledger.renew(grant, leaseMs)).toBe(false)
    expect(await desk.ledger.end(grant, 'delivered', 1n)).toBe(false)
    expect(await desk.stateOf(payment)).toBe('spent')
    expect((await desk.books().history(payment.tx))?.refundedAt).toBe(startOfTests + leaseMs)
    await dispatches().drop(dispatch.id, 1, 'no')
    expect(await desk.stateOf(payment)).toBe('open')
    expect((await desk.books().history(payment.tx))?.refundedAt).toBeUndefined()
    expect(await desk.kindOf(againOf(payment))).toBe('granted')
  })

  it('holds for good once it has landed', async () => {
    const payment = await desk.registered()
    desk.clock.advance(leaseMs)
    const dispatch = await landed(plannedBy(await refund(payment)))
    expect(await dispatches().drop(dispatch.id, dispatch.version, '')).toBeUndefined()
    await desk.journal().conclude([{ tx: payment.tx, finality: 'finalized' }])
    expect(await desk.kindOf(againOf(payment))).toBe('spent')
    expect(await desk.books().audit()).toEqual([])
  })

  it('removes the payment from the list of problems', async () => {
    const undelivered = createPayment({ received: 20_000n })
    const late = createPayment()
    await desk.use(takeOf(undelivered), 'not_started')
    await desk.ledger.recordLate(late)
    expect(await problems()).toEqual(expect.arrayContaining(['undelivered', 'late']))
    const first = plannedBy(await refund(undelivered))
    plannedBy(await refund(late, 'refund:2'))
    expect(await problems()).toEqual([])
    expect(await desk.books().countProblems(10)).toMatchObject({ undelivered: 0, late: 0, surplus: 0 })
    await dispatches().drop(first.id, 1, '')
    expect(await problems()).toEqual(['undelivered'])
  })

  it('of one that came too late keeps it from being registered after all', async () => {
    const late = createPayment({ allowance: { unit: 'second', amount: 5n } })
    await desk.ledger.recordLate(late)
    const dispatch = plannedBy(await refund(late))
    expect(await desk.kindOf(takeOf(late))).toBe('spent')
    expect(await desk.stateOf(late)).toBe('late')
    await dispatches().drop(dispatch.id, 1, '')
    expect(await desk.kindOf(takeOf(late))).toBe('granted')
  })

  it('of an unclaimed payment prevents its registration, in time or late, until it is dropped', async () => {
    const payment = createPayment()
    const dispatch = plannedBy(await refund(payment))
    expect((await refund(payment, 'refund:2')).kind).toBe('in_use')
    await desk.ledger.recordLate(payment)
    expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    expect(await desk.kindOf(takeOf({ ...payment, request: 'request-2' }))).toBe('spent')
    expect(await desk.kindOf(againOf(payment))).toBe('unknown')
    expect(await desk.stateOf(payment)).toBeUndefined()
    expect(await desk.kindOf(takeOf(createPayment()))).toBe('granted')
    await dispatches().drop(dispatch.id, 1, 'no')
    expect(await desk.kindOf(takeOf(payment))).toBe('granted')
    expect((await refund(payment)).kind).toBe('in_use')
    expect(await desk.books().audit()).toEqual([])
  })

  it('of an unclaimed payment is permanent once it has landed', async () => {
    const payment = createPayment()
    await landed(plannedBy(await refund(payment)))
    expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    expect((await refund(payment, 'refund:2')).kind).toBe('in_use')
  })

  it('can be of a payment that was claimed in the meantime, as long as nothing was had for it', async () => {
    const payment = createPayment({ finality: 'finalized' })
    await desk.use(takeOf(payment), 'not_started')
    plannedBy(await refund(payment))
    expect(await desk.kindOf(againOf(payment))).toBe('spent')
  })

  it('suppresses the event that the payment expired undelivered', async () => {
    await desk.ledger.events.start()
    const [kept, refunded] = [await desk.registered(), await desk.registered()]
    desk.clock.advance(leaseMs)
    plannedBy(await refund(refunded))
    desk.clock.advance(86_400_000 + 20_000)
    await desk.ledger.events.sweep(10)
    const told = (await desk.ledger.events.list({ most: 10 })) ?? []
    expect(told.filter(({ kind }) => kind === 'payment.undelivered').map(({ tx }) => tx)).toEqual([kept.tx])
  })
})

const dayMs = 86_400_000
const worth = 1_000_000n

describe.each(stores)('a refund in the books of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const dispatches = () => dispatchesOf(desk.ledger)
  /** Plans it, and has it land two days later. */
  const refund = async (payment: PaymentRecord, units: bigint, isWhole = units === payment.received) => {
    desk.clock.advance(leaseMs)
    const { tx } = payment
    const lockKey = `refund/${Math.random()}`
    const plan = planOf({ kind: 'refund', lockKey, refunds: { tx, units }, ...(isWhole && { voids: tx }) })
    const { id } = plannedBy(await dispatches().plan(plan))
    await dispatches().sign(id, 1, bytes)
    desk.clock.advance(2 * dayMs)
    return { id, land: () => dispatches().land(id, 2, 7) }
  }
  const registered = (changes: Partial<PaymentRecord>) =>
    desk.registered({ usableUntil: Number.MAX_SAFE_INTEGER, ...changes })
  const sums = (period = {}) => desk.books().sums(period)
  const today = () => desk.clock.now() - (desk.clock.now() % dayMs)

  it('is subtracted once it has landed, on that day, by endpoint and payer too', async () => {
    const payment = await registered({ received: 10_000n, worth })
    const { land } = await refund(payment, 10_000n)
    expect(await sums()).toMatchObject([{ worth, refunded: 0n, refundedWorth: 0n }])
    await land()
    const back = { refunded: 10_000n, refundedWorth: worth }
    expect(await sums()).toEqual([{ token: 'USDC', payments: 1, received: 10_000n, worth, unvalued: 0, ...back }])
    const alone = { token: 'USDC', payments: 0, received: 0n, worth: 0n, unvalued: 0, ...back }
    const [from, to] = [today(), today() + dayMs]
    expect(await sums({ from, to })).toEqual([alone])
    expect(await sums({ to: from })).toMatchObject([{ payments: 1, worth, refunded: 0n, refundedWorth: 0n }])
    const endpoint = '/api/data'
    expect(await desk.books().endpoints({ from, to }, 9)).toEqual([{ endpoint, ...alone }])
    for (const only of [{}, { endpoint }])
      expect(await desk.books().series({ from, to, step: 'day', ...only })).toEqual([{ at: from, ...alone }])
    const first = from - 10 * dayMs
    const { payers } = await desk.books().payers({ from: first, to, order: 'revenue', most: 9 })
    expect(payers).toMatchObject([{ payer: 'payer-1', sums: [{ worth, ...back }] }])
    expect(await desk.books().payers({ from, to, order: 'revenue', most: 9 })).toEqual({ payers: [] })
    expect(await desk.books().audit()).toEqual([])
  })

  it('is subtracted from the sum of a list at its value, unless the payment was late', async () => {
    const [whole, part] = [await registered({ received: 10n, worth }), await registered({ received: 10n, worth })]
    const late = createPayment({ received: 10n, worth, usableUntil: Number.MAX_SAFE_INTEGER })
    await desk.ledger.recordLate(late)
    const sum = () => desk.books().sumPayments({ order: 'latest', most: 10 })
    const first = await refund(whole, 10n)
    expect(await sum()).toMatchObject([{ payments: 2, unaccepted: 1, worth: 2n * worth, refundedWorth: 0n }])
    await first.land()
    for (const [payment, units] of [
      [part, 1n],
      [late, 10n],
    ] as const)
      await (await refund(payment, units)).land()
    const refundedWorth = worth + worth / 10n
    expect(await sum()).toMatchObject([{ payments: 2, unaccepted: 1, worth: 2n * worth, refundedWorth }])
    expect(await sums()).toMatchObject([{ payments: 2, worth: 2n * worth, refundedWorth }])
  })

  it('of a part subtracts that part of the value, and ranks payers by their net amounts', async () => {
    const generous = await registered({ payer: 'payer-2', received: 30_000n, worth: 3n * worth })
    await registered({ payer: 'payer-1', received: 25_000n, worth: 2n * worth })
    await (await refund(generous, 20_000n)).land()
    expect(await sums()).toMatchObject([{ worth: 5n * worth, refunded: 20_000n, refundedWorth: 2n * worth }])
    const [from, to] = [today() - 10 * dayMs, today() + dayMs]
    const page = await desk.books().payers({ from, to, order: 'revenue', most: 1 })
    expect(page.payers.map(({ payer }) => payer)).toEqual(['payer-1'])
    const after = page.next ?? expect.fail('there is a second page')
    expect((await desk.books().payers({ from, to, order: 'revenue', most: 1, after })).payers).toMatchObject([
      { payer: 'payer-2' },
    ])
    expect(await desk.books().audit()).toEqual([])
  })

  it('is in no book where its payment never was, nor before it has landed, nor once it was dropped', async () => {
    const late = createPayment()
    await desk.ledger.recordLate(late)
    await (await refund(late, 10_000n)).land()
    await (await refund(createPayment(), 10_000n)).land()
    expect(await sums()).toEqual([])
    const { id } = await refund(await registered({ worth }), 10_000n)
    await dispatches().unsign(id, 2, 'it can no longer land')
    await dispatches().drop(id, 3, 'no')
    expect(await sums()).toMatchObject([{ worth, refunded: 0n }])
    expect(await desk.books().audit()).toEqual([])
  })

  it('stays when the chain takes the payment back after all: the money is gone', async () => {
    const payment = await registered({ worth })
    await (await refund(payment, 10_000n)).land()
    await desk.journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
    expect(await sums()).toMatchObject([{ payments: 0, worth: 0n, refunded: 10_000n, refundedWorth: worth }])
    expect(await desk.books().audit()).toEqual([])
  })

  it('has no worth where its payment has none, and another one in another report token', async () => {
    const rates = { table: { USDC: '1', NATIVE: '0.5' }, source: 'fixed', at: 1, decimals: { USDC: 6, NATIVE: 9 } }
    await (await refund(await registered({ worth: undefined }), 10_000n)).land()
    await (await refund(await registered({ received: 10_000n, worth: 10n ** 10n, rates }), 2_500n, false)).land()
    expect(await sums()).toMatchObject([{ unvalued: 1, refunded: 12_500n, refundedWorth: 25n * 10n ** 8n }])
    await desk.books().rebuild('NATIVE')
    expect(await sums()).toMatchObject([{ worth: 2n * 10n ** 10n, refunded: 12_500n, refundedWorth: 5n * 10n ** 9n }])
    expect(await desk.books().audit()).toEqual([])
  })

  it('is a refund, of a payment, of something', async () => {
    const refunds = { tx: createPayment().tx, units: 1n }
    await expect(dispatches().plan(planOf({ kind: 'conversion', refunds }))).rejects.toThrow(RangeError)
    for (const wrong of [{ units: 0n }, { tx: new Uint8Array(3) }]) {
      const plan = planOf({ kind: 'refund', lockKey: 'refund/1', refunds: { ...refunds, ...wrong } })
      await expect(dispatches().plan(plan)).rejects.toThrow(RangeError)
    }
  })
})
