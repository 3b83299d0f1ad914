/** The list of payments in every store: what was registered, and what was only seen. */
import { describe, expect, it } from 'vitest'
import type { PaymentListItem } from '../../src/core/payment/history.ts'
import type { PaymentRecord } from '../../src/core/ports/ledger.ts'
import type { PaymentListQuery } from '../../src/core/ports/reports.ts'
import { useDesk } from './grants-fixture.ts'
import { createPayment, createSighting, startOfTests, takeOf } from './payments.ts'
import { stores } from './stores.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** A whole hour and a whole day. */
const midnight = Math.floor(startOfTests / dayMs) * dayMs

describe.each(stores)('the list of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const { books, journal, registered } = desk

  describe('captures', () => {
    const list = (query: Partial<PaymentListQuery> = {}) =>
      books().listPayments({ order: 'latest', most: 100, ...query })
    const numbers = (captures: readonly PaymentListItem[]) => captures.map(({ units }) => Number(units))

    it('show a payment as it was registered', async () => {
      const payment = await registered({ endpoint: '/a', worth: 5n })
      const { tx, request, payer, recipient, token } = payment
      const capture = {
        ...{ tx, at: payment.paidAt, request, payer, recipient, endpoint: '/a', token, units: 10_000n, worth: 5n },
        ...{ status: 'confirmed', state: 'confirmed', delivery: 'none' },
      }
      expect(await list()).toEqual([capture])
      expect(await books().findPayment(tx)).toEqual(capture)
      expect(await books().findPayment(createPayment().tx)).toBeUndefined()
    })

    it('show the parts of other wallets, which are no revenue', async () => {
      const splits = [
        { recipient: 'partner-1', units: 1_000n },
        { recipient: 'partner-2', units: 2n ** 64n - 1n },
      ]
      const { tx } = await registered({ splits })
      expect(await list()).toMatchObject([{ units: 10_000n, splits }])
      expect(await books().findPayment(tx)).toMatchObject({ splits })
      expect(await books().history(tx)).toMatchObject({ payment: { splits } })
      expect(await books().sums({})).toMatchObject([{ received: 10_000n }])
      const collected = await registered({ splits, isCollected: true })
      expect(await books().findPayment(collected.tx)).toMatchObject({ splits, isCollected: true })
      await desk.ledger.recordLate(createPayment({ splits, paidAt: startOfTests }))
      expect(await list({ state: 'late' })).toMatchObject([{ splits }])
      expect(await books().audit()).toEqual([])
    })

    it('show the state of a payment', async () => {
      const of = async ({ tx }: PaymentRecord) => {
        const { status, state, delivery } = (await books().findPayment(tx)) ?? {}
        return [status, state, delivery]
      }
      const payment = createPayment({ allowance: { unit: 'request', amount: 2n } })
      await desk.use(takeOf(payment), 'no_body')
      expect(await of(payment)).toEqual(['confirmed', 'confirmed', 'none'])
      await desk.use(takeOf(payment), 'partial')
      expect(await of(payment)).toEqual(['confirmed', 'confirmed', 'some'])
      await desk.use(takeOf(payment), 'delivered')
      await journal().conclude([{ tx: payment.tx, finality: 'finalized' }])
      expect(await of(payment)).toEqual(['confirmed', 'finalized', 'some'])
      await desk.use(takeOf(payment), 'delivered')
      expect(await of(payment)).toEqual(['confirmed', 'finalized', 'all'])
      const window = await registered({ allowance: { unit: 'second', amount: 60n } })
      expect(await of(window)).toEqual(['confirmed', 'confirmed', 'all'])
      const file = createPayment({ allowance: { unit: 'file', amount: 9n } })
      await desk.use(takeOf(file, { amount: 5n }), 'delivered', 5n)
      expect(await of(file)).toEqual(['confirmed', 'confirmed', 'some'])
      await desk.use(takeOf(file, { from: 5n, amount: 4n }), 'delivered', 4n)
      expect(await of(file)).toEqual(['confirmed', 'confirmed', 'all'])
      await journal().conclude([{ tx: file.tx, finality: 'reverted' }])
      expect(await of(file)).toEqual(['expired', 'reverted', 'all'])
      const late = createPayment({ allowance: { unit: 'second', amount: 60n } })
      await desk.ledger.recordLate(late)
      expect(await of(late)).toEqual(['expired', 'late', 'none'])
      await journal().conclude([{ tx: late.tx, finality: 'reverted' }])
      expect(await of(late)).toEqual(['expired', 'reverted', 'none'])
    })

    it('list observed payments without a claim: pending, then expired, then gone after the claim', async () => {
      const sighting = createSighting()
      await journal().sight([sighting, createSighting({ request: '' })])
      const { tx, request, payer, recipient, token, endpoint, received, paidAt } = sighting
      const pending = {
        ...{ tx, at: paidAt, request, payer, recipient, endpoint, token, units: received, worth: undefined },
        ...{ status: 'pending', state: 'unclaimed', delivery: 'none' },
      }
      expect(await list()).toEqual([pending])
      expect(await books().findPayment(tx)).toEqual(pending)
      desk.clock.advance(hourMs)
      expect(await list({ status: 'pending' })).toHaveLength(1)
      desk.clock.advance(1)
      expect(await list({ status: 'pending' })).toEqual([])
      expect(await list({ status: 'expired' })).toEqual([{ ...pending, status: 'expired' }])
      const late = createPayment({ tx })
      await desk.ledger.recordLate(late)
      expect((await list()).map(({ state }) => state)).toEqual(['late'])
      await desk.grantOf(takeOf(late))
      expect((await list()).map(({ state }) => state)).toEqual(['confirmed'])
      await journal().sight([sighting])
      expect((await list()).map(({ state }) => state)).toEqual(['confirmed'])
    })

    it('never list a payment as unclaimed if it was observed after its registration', async () => {
      const [payment, late] = [await registered(), createPayment()]
      await desk.ledger.recordLate(late)
      await journal().sight([createSighting({ tx: payment.tx }), createSighting({ tx: late.tx })])
      expect((await list()).map(({ state }) => state).toSorted()).toEqual(['confirmed', 'late'])
      expect((await journal().unclaimed(10)).map(({ tx }) => tx)).toEqual([late.tx])
    })

    it('are filtered by time, endpoint, token and status, in both orders', async () => {
      for (let number = 0; number < 12; number += 1) {
        const facts = {
          received: BigInt(number),
          paidAt: midnight + number * 1000,
          endpoint: number % 2 === 0 ? '/even' : '/odd',
          token: number % 3 === 0 ? ('SOL' as const) : ('USDC' as const),
        }
        if (number % 4 === 3)
          await journal().sight([createSighting({ ...facts, claimableUntil: startOfTests + number - 5 })])
        else if (number % 4 === 2) await desk.ledger.recordLate(createPayment(facts))
        else await registered(facts)
      }
      const asked = async (query: Partial<PaymentListQuery>) => numbers(await list(query))
      expect(await asked({})).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
      expect(await asked({ order: 'oldest', most: 3 })).toEqual([0, 1, 2])
      expect(await asked({ from: midnight + 4000, to: midnight + 8000 })).toEqual([7, 6, 5, 4])
      expect(await asked({ endpoint: '/odd' })).toEqual([11, 9, 7, 5, 3, 1])
      expect(await asked({ token: 'SOL' })).toEqual([9, 6, 3, 0])
      expect(await asked({ endpoint: '/odd', token: 'SOL', order: 'oldest' })).toEqual([3, 9])
      expect(await asked({ status: 'confirmed' })).toEqual([9, 8, 5, 4, 1, 0])
      expect(await asked({ status: 'expired' })).toEqual([10, 6, 3, 2])
      expect(await asked({ status: 'pending' })).toEqual([11, 7])
      expect(await asked({ status: 'pending', token: 'USDC', endpoint: '/odd', most: 1 })).toEqual([11])
      expect(await asked({ status: 'expired', endpoint: '/even', from: midnight + 3000, order: 'oldest' })).toEqual([
        6, 10,
      ])
      expect(await asked({ most: 0 })).toEqual([])
    })

    it('are found by payer, state, requestId and transaction, exactly, and with the other filters', async () => {
      const facts = (number: number) => ({
        received: BigInt(number),
        paidAt: midnight + number * 1000,
        payer: `payer-${number % 2}`,
        request: `request-${number >> 1}`,
        endpoint: number < 4 ? '/a' : '/b',
      })
      const payments = Array.from({ length: 8 }, (_, number) => createPayment(facts(number)))
      for (const [number, payment] of payments.entries()) {
        if (number === 5) await desk.ledger.recordLate(payment)
        else await desk.grantOf(takeOf(payment))
      }
      const txOf = (number: number) => payments[number]?.tx ?? expect.fail()
      await journal().conclude([
        { tx: txOf(1), finality: 'reverted' },
        { tx: txOf(2), finality: 'finalized' },
        { tx: txOf(5), finality: 'finalized' },
      ])
      await journal().sight([createSighting({ ...facts(9), request: 'request-0' }), createSighting({ request: '' })])
      const asked = async (query: Partial<PaymentListQuery>) => numbers(await list(query))
      expect(await asked({ payer: 'payer-1' })).toEqual([9, 7, 5, 3, 1])
      expect(await asked({ payer: 'payer-1', order: 'oldest', most: 2 })).toEqual([1, 3])
      expect(await asked({ payer: 'payer-1', endpoint: '/a', token: 'USDC', status: 'confirmed' })).toEqual([3])
      expect(await asked({ payer: 'payer' })).toEqual([])
      expect(await asked({ request: 'request-0' })).toEqual([9, 1, 0])
      expect(await asked({ request: 'request-0', payer: 'payer-0' })).toEqual([0])
      expect(await asked({ tx: txOf(4) })).toEqual([4])
      expect(await asked({ tx: txOf(4), payer: 'payer-1' })).toEqual([])
      expect(await asked({ tx: txOf(4), request: 'request-2', endpoint: '/b' })).toEqual([4])
      const states = ['unclaimed', 'confirmed', 'finalized', 'late', 'reverted'] as const
      const byState = await Promise.all(states.map((state) => asked({ state })))
      expect(byState).toEqual([[9], [7, 6, 4, 3, 0], [2], [5], [1]])
      expect(await asked({ state: 'confirmed', endpoint: '/b', order: 'oldest', from: midnight + 5000 })).toEqual([
        6, 7,
      ])
      expect(await asked({ state: 'confirmed', status: 'expired' })).toEqual([])
      expect(await asked({ state: 'late', payer: 'payer-1', status: 'expired' })).toEqual([5])
      expect(await asked({ state: 'unclaimed', status: 'pending', request: 'request-0' })).toEqual([9])
    })

    it('are read page by page, without a gap and without a double, however many have one time', async () => {
      const all: PaymentRecord[] = []
      for (let number = 0; number < 11; number += 1) {
        const paidAt = midnight + Math.floor(number / 5)
        if (number % 3 === 0) await journal().sight([createSighting({ paidAt, received: BigInt(number) })])
        else all.push(await registered({ paidAt, received: BigInt(number) }))
      }
      for (const order of ['latest', 'oldest'] as const) {
        const found: PaymentListItem[] = []
        for (let page = await list({ order, most: 2 }); page.length > 0; ) {
          found.push(...page)
          const after = page.at(-1)
          page = await list({ order, most: 2, ...(after && { after }) })
        }
        expect(found).toEqual(await list({ order }))
        expect(numbers(found).toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      }
    })
  })

  describe('sums of the list', () => {
    const sum = (query: Partial<PaymentListQuery> = {}) => books().sumPayments({ order: 'latest', most: 100, ...query })

    it('count the accepted payments of the same query, and beside them all others', async () => {
      const huge = 2n ** 64n - 1n
      await registered({ received: huge, worth: 7n * 10n ** 14n })
      await registered({ received: huge, worth: undefined, endpoint: '/b' })
      await registered({ received: 5n, token: 'SOL', worth: 1n })
      await desk.ledger.recordLate(createPayment({ received: 3n, worth: 2n }))
      const reverted = await registered({ received: 6n, worth: 3n })
      await journal().conclude([{ tx: reverted.tx, finality: 'reverted' }])
      const named = createSighting({ received: 9n, slot: 0 })
      await journal().sight([createSighting({ received: 4n }), named])
      const none = { payments: 0, unaccepted: 0, notOnChain: 0, units: 0n, worth: 0n, refundedWorth: 0n, unvalued: 0 }
      const sol = { ...none, token: 'SOL', payments: 1, units: 5n, worth: 1n }
      const counted = { payments: 2, units: 2n * huge, worth: 7n * 10n ** 14n, unvalued: 1 }
      const usdc = { ...none, token: 'USDC', ...counted, unaccepted: 3, notOnChain: 1 }
      expect(await sum()).toEqual([sol, usdc])
      expect(await sum({ token: 'SOL' })).toEqual([sol])
      expect(await sum({ endpoint: '/b' })).toEqual([{ ...none, token: 'USDC', payments: 1, units: huge, unvalued: 1 }])
      expect(await sum({ status: 'pending' })).toEqual([{ ...none, token: 'USDC', unaccepted: 1, notOnChain: 1 }])
      expect(await sum({ payer: 'payer-9' })).toEqual([])
    })

    it('read a limited number of payments of each list', async () => {
      for (const worth of [1n, 2n, 4n]) await registered({ worth, paidAt: startOfTests - 1_000 + Number(worth) })
      await journal().sight([createSighting(), createSighting()])
      expect(await sum({ most: 1 })).toMatchObject([{ payments: 1, unaccepted: 1, worth: 4n }])
    })
  })

  describe('one payer', () => {
    it('has the sums of each day, less what was reverted', async () => {
      await registered({ paidAt: midnight, worth: 3n })
      await registered({ paidAt: midnight + hourMs, worth: 4n })
      await registered({ paidAt: midnight - 1, worth: 5n, token: 'SOL' })
      await registered({ paidAt: midnight, worth: 9n, payer: 'payer-2' })
      const reverted = await registered({ paidAt: midnight - 2 * dayMs, worth: 6n })
      await journal().conclude([{ tx: reverted.tx, finality: 'reverted' }])
      const from = midnight - 3 * dayMs
      expect(await books().payerSeries({ payer: 'payer-1', from, to: midnight + dayMs })).toMatchObject([
        { at: midnight - dayMs, token: 'SOL', payments: 1, worth: 5n },
        { at: midnight, token: 'USDC', payments: 2, worth: 7n },
      ])
      expect(await books().payerSeries({ payer: 'payer-1', from, to: midnight - dayMs })).toEqual([])
      await expect(books().payerSeries({ payer: 'payer-1', from: 1, to: midnight })).rejects.toThrow(RangeError)
    })

    it('is found by the start of its pseudonym, letter by letter', async () => {
      for (const payer of ['Ab_-x', 'Ab_-y', 'ab_-x', 'Ab', 'B']) await registered({ payer })
      expect(await books().findPayers('Ab_-', 'Ab_-~', 5)).toEqual(['Ab_-x', 'Ab_-y'])
      expect(await books().findPayers('Ab_-', 'Ab_-~', 1)).toEqual(['Ab_-x'])
      expect(await books().findPayers('ab_-', 'ab_-~', 5)).toEqual(['ab_-x'])
    })
  })

  it('finds transactions in a range, registered or observed', async () => {
    const txOf = (first: number) => new Uint8Array(64).fill(first, 0, 1)
    await registered({ tx: txOf(2) })
    await journal().sight([
      createSighting({ tx: txOf(3) }),
      createSighting({ tx: txOf(4), request: '' }),
      createSighting({ tx: txOf(2) }),
    ])
    expect(await books().findTransactions(txOf(1), txOf(9), 5)).toEqual([txOf(2), txOf(3)])
    expect(await books().findTransactions(txOf(3), txOf(9), 5)).toEqual([txOf(3)])
    expect(await books().findTransactions(txOf(1), txOf(2), 5)).toEqual([txOf(2)])
    expect(await books().findTransactions(txOf(1), txOf(9), 1)).toEqual([txOf(2)])
  })

  describe('a payment that only a proof has named', () => {
    it('is pending, and not unclaimed, until a node shows it', async () => {
      const named = createSighting({ slot: 0, payer: '', paidAt: startOfTests })
      expect(await journal().sight([named])).toEqual([named])
      expect(await journal().sight([named])).toEqual([])
      expect(await journal().unclaimed(10)).toEqual([])
      const seen = { ...named, slot: 5, payer: 'payer-2', paidAt: startOfTests - 7 }
      expect(await journal().sight([seen])).toEqual([seen])
      expect(await journal().sight([seen, named])).toEqual([])
      expect(await journal().unclaimed(10)).toEqual([seen])
      expect(await books().findPayment(named.tx)).toMatchObject({
        status: 'pending',
        payer: 'payer-2',
        at: startOfTests - 7,
      })
    })

    it('is kept a thousand times at the most, and the oldest go', async () => {
      const many = Array.from({ length: 1003 }, (_, number) =>
        createSighting({ slot: 0, paidAt: startOfTests + number }),
      )
      const seen = createSighting({ paidAt: startOfTests - 5 })
      await journal().sight([seen, ...many.slice(500)])
      await journal().sight(many.slice(0, 500))
      const kept = await books().listPayments({ order: 'oldest', most: 2000 })
      expect(kept).toHaveLength(1001)
      expect(kept.slice(0, 2).map(({ at }) => at - startOfTests)).toEqual([-5, 3])
    })
  })
})
