/** What somebody has to look after, and the course of one payment, in every store. */
import { describe, expect, it } from 'vitest'
import type { Period, ProblemKind, ProblemQuery } from '../../src/core/ports/reports.ts'
import { problemKinds } from '../../src/core/ports/reports.ts'
import { useDesk } from './grants-fixture.ts'
import { againOf, createPayment, createSighting, leaseMs, startOfTests, takeOf } from './payments.ts'
import { stores } from './stores.ts'

const minuteMs = 60_000
const paidAt = startOfTests - 10 * minuteMs
const none = Object.fromEntries(problemKinds.map((kind) => [kind, 0]))

describe.each(stores)('the problems of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const { books, journal } = desk
  const list = (query: Partial<ProblemQuery> = {}) => books().problems({ most: 100, ...query })
  const kindsOf = async () => (await list()).map(({ kind, payment }) => [kind, Number(payment.units)])

  it('are none where everything was paid, claimed and delivered as it should be', async () => {
    const payment = createPayment()
    await journal().sight([createSighting({ tx: payment.tx })])
    await desk.use(takeOf(payment), 'delivered')
    await journal().conclude([{ tx: payment.tx, finality: 'finalized' }])
    expect(await list()).toEqual([])
    expect(await books().countProblems(1000)).toEqual(none)
  })

  it('are counted by the time of payment where nothing was delivered, refunded or not', async () => {
    const [early, bare] = [createPayment({ paidAt: paidAt - 3_600_000, endpoint: '/early' }), createPayment({ paidAt })]
    const [used, late, gone] = [createPayment({ paidAt }), createPayment({ paidAt }), createPayment({ paidAt })]
    for (const payment of [early, bare, gone]) await desk.use(takeOf(payment), 'not_started')
    await desk.use(takeOf(used), 'delivered')
    await desk.ledger.recordLate(late)
    await journal().conclude([{ tx: gone.tx, finality: 'reverted' }])
    const hour = Math.floor(paidAt / 3_600_000) * 3_600_000
    const count = async (period: Period) =>
      Object.fromEntries((await books().countUndelivered(period)).map((one) => [one.endpoint, one.count]))
    expect(await count({})).toEqual({ '/early': 1, [bare.endpoint]: 1 })
    expect(await count({ from: hour, to: hour + 3_600_000 })).toEqual({ [bare.endpoint]: 1 })
    await desk.use(againOf(bare), 'delivered')
    expect(await count({})).toEqual({ '/early': 1 })
  })

  it('of observed payments are distinguished: no memo of this service, underpaid, late, overpaid, and unclaimed', async () => {
    const seen = (number: number, changes: Parameters<typeof createSighting>[0] = {}) =>
      createSighting({ request: `request-${number}`, paidAt: paidAt + number, ...changes })
    const most = 2n ** 64n - 1n
    const sightings = [
      seen(1, { request: '', received: 1n, required: undefined, payableUntil: 0, claimableUntil: 0 }),
      seen(2, { received: 9_999n }),
      // Of fewer digits, which as text would be the larger.
      seen(3, { received: 9n }),
      seen(4, { received: 10_001n }),
      seen(5, { received: most, required: most - 1n }),
      seen(6, { received: 10_000n, payableUntil: paidAt + 5 }),
      seen(7, { received: 5n, payableUntil: paidAt + 6 }),
      seen(8, { received: 10_000n }),
      seen(9, { received: 77n, required: undefined }),
      seen(10, { received: 1n, slot: 0 }),
      seen(11, { received: 10_000n, paidAt: startOfTests - minuteMs + 1 }),
    ]
    await journal().sight(sightings)
    const found = await list()
    expect(found.map(({ kind, payment }) => [kind, payment.request])).toEqual([
      ['unclaimed', 'request-9'],
      ['unclaimed', 'request-8'],
      ['underpaid', 'request-7'],
      ['late', 'request-6'],
      ['surplus', 'request-5'],
      ['surplus', 'request-4'],
      ['underpaid', 'request-3'],
      ['underpaid', 'request-2'],
      ['unmatched', ''],
    ])
    const faults = await Promise.all(found.map(async ({ payment }) => (await books().findPayment(payment.tx))?.fault))
    expect(faults.slice(2, -1)).toEqual(['underpaid', 'late', 'surplus', 'surplus', 'underpaid', 'underpaid'])
    expect([faults[0], faults[1], faults.at(-1)]).toEqual([undefined, undefined, undefined])
    expect(found[4]).toMatchObject({ required: most - 1n, until: startOfTests + 60 * minuteMs })
    expect(found[1]).toEqual({
      kind: 'unclaimed',
      payment: await books().findPayment(sightings[7]?.tx ?? expect.fail()),
      required: 10_000n,
      until: startOfTests + 60 * minuteMs,
    })
    const counts = { ...none, unclaimed: 2, underpaid: 3, late: 1, surplus: 2, unmatched: 1 }
    expect(await books().countProblems(1000)).toEqual(counts)
    expect(await books().countProblems(2)).toEqual({ ...counts, underpaid: 2 })
    desk.clock.advance(1)
    expect((await list({ kind: 'unclaimed' })).map(({ payment }) => payment.request)).toEqual([
      'request-11',
      'request-9',
      'request-8',
    ])
  })

  it('call a second full payment for one requestId too much, whichever of the two was claimed', async () => {
    const [one, two, three] = [0, 1, 2].map((number) => createSighting({ paidAt: paidAt + number, received: 10_000n }))
    if (!one || !two || !three) throw new Error('there are three')
    const short = createSighting({ paidAt: paidAt - 5, received: 1n })
    await journal().sight([short, one])
    expect(await kindsOf()).toEqual([
      ['unclaimed', 10_000],
      ['underpaid', 1],
    ])
    await journal().sight([two, three])
    expect((await list({ kind: 'surplus' })).map(({ payment }) => payment.at - paidAt)).toEqual([2, 1])
    const listed = await books().listPayments({ order: 'latest', most: 10 })
    expect(listed.map(({ fault }) => fault)).toEqual(['surplus', 'surplus', undefined, 'underpaid'])
    expect((await books().history(two.tx))?.payment.fault).toBe('surplus')
    expect((await list({ kind: 'unclaimed' })).map(({ payment }) => payment.at - paidAt)).toEqual([0])
    await desk.use(takeOf(createPayment({ tx: two.tx, paidAt: paidAt + 1 })), 'delivered')
    expect((await list({ kind: 'surplus' })).map(({ payment }) => payment.at - paidAt)).toEqual([2, 0])
    await journal().conclude([{ tx: two.tx, finality: 'reverted' }])
    expect((await list({ kind: 'unclaimed' })).map(({ payment }) => payment.at - paidAt)).toEqual([0])
  })

  it('do not call one too much because another was paid before that came too late to buy anything', async () => {
    const [one, two] = [0, 1].map((number) => createSighting({ paidAt: paidAt + number, received: 10_000n }))
    if (!one || !two) throw new Error('there are two')
    await journal().sight([one, two])
    await desk.ledger.recordLate(createPayment({ tx: one.tx, paidAt }))
    expect((await list({ kind: 'surplus' })).map(({ payment }) => payment.at - paidAt)).toEqual([])
    expect((await list({ kind: 'unclaimed' })).map(({ payment }) => payment.at - paidAt)).toEqual([1])
  })

  it('of registered payments: taken back, too late, nothing delivered, too much', async () => {
    const [reverted, late, failed, much] = [1n, 2n, 3n, 4n].map((number) =>
      createPayment({ paidAt: paidAt + Number(number), received: 10_000n + number, required: 10_000n + number }),
    )
    if (!reverted || !late || !failed || !much) throw new Error('there are four')
    await desk.use(takeOf(reverted), 'not_started')
    await desk.ledger.recordLate(late)
    await journal().sight([createSighting({ tx: late.tx })])
    await desk.use(takeOf(failed), 'not_started')
    await desk.use(takeOf({ ...much, required: 9_999n }), 'delivered')
    await journal().conclude([{ tx: reverted.tx, finality: 'reverted' }])
    expect(await kindsOf()).toEqual([
      ['surplus', 10_004],
      ['undelivered', 10_003],
      ['late', 10_002],
      ['reverted', 10_001],
    ])
    expect(await books().countProblems(5)).toEqual({ ...none, surplus: 1, undelivered: 1, late: 1, reverted: 1 })
    for (const kind of ['surplus', 'undelivered', 'late', 'reverted'] satisfies ProblemKind[])
      expect((await list({ kind })).map((problem) => problem.kind)).toEqual([kind])
    expect(await list({ kind: 'undelivered' })).toMatchObject([{ required: 10_003n, until: failed.usableUntil }])
    await desk.use(takeOf({ ...reverted, finality: 'finalized' }), 'delivered')
    await desk.use(takeOf(late), 'delivered')
    await desk.use(takeOf(failed), 'delivered')
    expect(await kindsOf()).toEqual([['surplus', 10_004]])
  })

  it('of delivery begin when a response delivered nothing, or when the payment is final without a use', async () => {
    const grant = await desk.grantOf(takeOf(createPayment({ allowance: { unit: 'request', amount: 2n } })))
    const window = createPayment({ allowance: { unit: 'second', amount: 60n } })
    const looked = createPayment()
    await desk.use(takeOf(window), 'not_started')
    await desk.use(takeOf(looked), 'no_body')
    expect(await list()).toEqual([])
    await journal().conclude([grant, window, looked].map(({ tx }) => ({ tx, finality: 'finalized' as const })))
    // While somebody is at it, nobody has to look after it.
    expect((await list()).map(({ payment }) => payment.tx)).toEqual([looked.tx])
    desk.clock.advance(leaseMs)
    expect(await list({ kind: 'undelivered' })).toHaveLength(2)
    await desk.ledger.end(grant, 'partial', 1n)
    expect((await list()).map(({ payment }) => payment.tx)).toEqual([looked.tx])
  })

  it('of delivery end with the first bytes', async () => {
    const bytes = createPayment({ allowance: { unit: 'byte', amount: 100n } })
    await desk.use(takeOf(bytes), 'not_started')
    const grant = await desk.grantOf(againOf(bytes, { amount: 50n }))
    desk.clock.advance(5)
    expect(await desk.ledger.advance(grant, 10n, 10n)).toBe(10n)
    desk.clock.advance(leaseMs)
    expect(await list()).toEqual([])
    expect(await books().history(bytes.tx)).toMatchObject({
      deliveredAt: startOfTests + 5,
      deliveredLast: startOfTests + 5,
      undeliveredAt: undefined,
    })
  })

  it('are listed page by page, the latest first, each once, however many have one time', async () => {
    for (let number = 0; number < 12; number += 1) {
      const at = paidAt + (number >> 2)
      if (number % 2 === 0)
        await journal().sight([createSighting({ paidAt: at, request: number % 4 ? '' : `r${number}` })])
      else await desk.ledger.recordLate(createPayment({ paidAt: at }))
    }
    const found = []
    for (let page = await list({ most: 2 }); page.length > 0; ) {
      found.push(...page)
      const after = page.at(-1)?.payment
      page = await list({ most: 2, ...(after && { after }) })
    }
    expect(found).toEqual(await list())
    expect(found).toHaveLength(12)
    expect(await list({ most: 0 })).toEqual([])
  })
})

describe.each(stores)('the history of a payment in the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const { books, journal } = desk
  const unknown = {
    registeredAt: undefined,
    deliveredAt: undefined,
    deliveredLast: undefined,
    undeliveredAt: undefined,
  }

  it('has every step with its time', async () => {
    const payment = createPayment({ allowance: { unit: 'request', amount: 2n } })
    const { tx } = payment
    await journal().sight([createSighting({ tx })])
    const seen = await books().history(tx)
    const times = { ...unknown, concludedAt: undefined, seenAt: startOfTests, isShown: true }
    const claimable = { claimableUntil: startOfTests + 60 * minuteMs, required: 10_000n }
    expect(seen).toEqual({ payment: await books().findPayment(tx), ...times, ...claimable })
    desk.clock.advance(10)
    const grant = await desk.grantOf(takeOf(payment))
    desk.clock.advance(10)
    await desk.ledger.end(grant, 'not_started', 0n)
    desk.clock.advance(10)
    await desk.use(againOf(payment), 'not_started')
    expect(await books().history(tx)).toMatchObject({ undeliveredAt: startOfTests + 20 })
    await desk.use(againOf(payment), 'partial')
    desk.clock.advance(10)
    await desk.use(againOf(payment), 'delivered')
    desk.clock.advance(10)
    await desk.use(againOf(payment), 'no_body')
    await journal().conclude([{ tx, finality: 'finalized' }])
    expect(await books().history(tx)).toEqual({
      payment: await books().findPayment(tx),
      required: 10_000n,
      isShown: true,
      seenAt: startOfTests,
      registeredAt: startOfTests + 10,
      deliveredAt: startOfTests + 30,
      deliveredLast: startOfTests + 40,
      undeliveredAt: undefined,
      concludedAt: startOfTests + 50,
      claimableUntil: undefined,
    })
    expect(await books().history(createPayment().tx)).toBeUndefined()
  })

  it('is also known for payments in no list, and for those that only a proof has named', async () => {
    const unmatched = createSighting({ request: '', required: undefined })
    const named = createSighting({ slot: 0 })
    await journal().sight([unmatched, named])
    expect(await books().findPayment(unmatched.tx)).toBeUndefined()
    expect(await books().history(unmatched.tx)).toMatchObject({
      isShown: true,
      seenAt: startOfTests,
      required: undefined,
    })
    expect(await books().history(named.tx)).toMatchObject({ isShown: false, seenAt: undefined })
    expect(await books().findPayment(named.tx)).toMatchObject({ fault: 'not_on_chain', state: 'unclaimed' })
    desk.clock.advance(5)
    await journal().sight([{ ...named, slot: 5 }])
    expect(await books().history(named.tx)).toMatchObject({ isShown: true, seenAt: startOfTests + 5 })
    expect((await books().findPayment(named.tx))?.fault).toBeUndefined()
  })

  it('T62: has the end that the chain gave it last', async () => {
    const payment = createPayment({ finality: 'confirmed' })
    await desk.use(takeOf(payment), 'not_started')
    desk.clock.advance(10)
    await journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
    const reverted = { concludedAt: startOfTests + 10, undeliveredAt: undefined, isShown: true, seenAt: undefined }
    expect(await books().history(payment.tx)).toMatchObject(reverted)
    desk.clock.advance(10)
    await desk.ledger.take(takeOf({ ...payment, finality: 'finalized' }))
    expect(await books().history(payment.tx)).toMatchObject({ concludedAt: startOfTests + 20 })
    const final = createPayment({ finality: 'finalized' })
    await desk.grantOf(takeOf(final))
    expect(await books().history(final.tx)).toMatchObject({ concludedAt: startOfTests + 20 })
  })
})
