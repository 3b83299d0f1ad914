/** A payment that goes back: nothing can be taken of it any more, unless the refund is given up. The same in every store. */
import { describe, expect, it } from 'vitest'
import type { Dispatch, DispatchPlan } from '../../src/core/money-out.ts'
import type { PaymentRecord } from '../../src/core/ports.ts'
import { useDesk } from './desk.ts'
import { bytes, dispatchesOf, plannedBy, planOf } from './dues.ts'
import { againOf, createPayment, leaseMs, startOfTests, takeOf } from './payments.ts'
import { stores } from './stores.ts'

describe.each(stores)('a refund of the %s ledger that makes a payment void', (_name, open) => {
  const desk = useDesk(open)
  const dispatches = () => dispatchesOf(desk.ledger)
  const plan = (changes: Partial<DispatchPlan> = {}) => dispatches().plan(planOf(changes))
  const landed = async ({ id, version }: Dispatch) => {
    await dispatches().sign(id, version, bytes)
    return (await dispatches().land(id, version + 1, 7)) ?? expect.fail('not landed')
  }
  const refund = (payment: Pick<PaymentRecord, 'tx'>, lane = 'refund:1') =>
    plan({ kind: 'refund', lane, voids: payment.tx })
  const problems = async () => (await desk.books().problems({ most: 10 })).map(({ kind }) => kind)

  it('is not planned while it is delivered, nor once it was used', async () => {
    const payment = await desk.registered()
    expect((await refund(payment)).kind).toBe('in_use')
    desk.clock.advance(leaseMs)
    await desk.use(againOf(payment), 'count')
    expect((await refund(payment)).kind).toBe('in_use')
    const [settled, file] = [createPayment(), createPayment({ allowance: { unit: 'file', amount: 9n } })]
    await desk.use(takeOf(settled), 'settle')
    await desk.use(takeOf(file), 'count')
    const hour = await desk.registered({ allowance: { unit: 'second', amount: 1n } })
    const gone = await desk.registered()
    await desk.journal().conclude([{ tx: gone.tx, finality: 'reverted' }])
    desk.clock.advance(leaseMs)
    for (const one of [settled, file, hour, gone]) expect((await refund(one)).kind).toBe('in_use')
    expect(await dispatches().open()).toEqual([])
  })

  it('lets nobody take anything of it, nor come back to what lapsed, until it is dropped', async () => {
    const payment = createPayment({ finality: 'finalized' })
    const grant = await desk.grantOf(takeOf(payment))
    const free = createPayment()
    await desk.use(takeOf(free), 'free', 0n)
    desk.clock.advance(leaseMs)
    const dispatch = plannedBy(await refund(payment))
    expect((await refund(payment)).kind).toBe('taken')
    expect((await refund(payment, 'refund:2')).kind).toBe('in_use')
    expect((await refund(free, 'refund:3')).kind).toBe('planned')
    expect(await desk.kindOf(againOf(payment))).toBe('spent')
    expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    expect(await desk.kindOf(takeOf({ ...payment, request: 'request-2' }))).toBe('foreign')
    expect(await desk.ledger.renew(grant, leaseMs)).toBe(false)
    expect(await desk.ledger.end(grant, 'settle', 1n)).toBe(false)
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

  it('takes it off the list of what has to be looked after', async () => {
    const undelivered = createPayment({ received: 20_000n })
    const late = createPayment()
    await desk.use(takeOf(undelivered), 'release')
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

  it('of one that nobody has claimed keeps it from being registered, in time or late, until it is dropped', async () => {
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

  it('of one that nobody has claimed holds for good once it has landed', async () => {
    const payment = createPayment()
    await landed(plannedBy(await refund(payment)))
    expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    expect((await refund(payment, 'refund:2')).kind).toBe('in_use')
  })

  it('can be of a payment that was claimed in the meantime, as long as nothing was had for it', async () => {
    const payment = createPayment({ finality: 'finalized' })
    await desk.use(takeOf(payment), 'release')
    plannedBy(await refund(payment))
    expect(await desk.kindOf(againOf(payment))).toBe('spent')
  })

  it('tells nobody that it ran out undelivered', async () => {
    await desk.ledger.notices?.start()
    const [kept, refunded] = [await desk.registered(), await desk.registered()]
    desk.clock.advance(leaseMs)
    plannedBy(await refund(refunded))
    desk.clock.advance(86_400_000 + 20_000)
    await desk.ledger.notices?.sweep(10)
    const told = (await desk.ledger.notices?.list({ most: 10 })) ?? []
    expect(told.filter(({ kind }) => kind === 'payment.undelivered').map(({ tx }) => tx)).toEqual([kept.tx])
  })
})
