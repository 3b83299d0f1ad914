/** What every ledger promises, whatever keeps it: bundles, bytes and seconds. */
import { describe, expect, it } from 'vitest'
import type { PaymentRecord } from '../../src/core/ports/ledger.ts'
import { granted, useDesk } from './grants-fixture.ts'
import { againOf, createPayment, leaseMs, takeOf } from './payments.ts'
import { stores } from './stores.ts'

describe.each(stores)('the %s ledger', (_name, open) => {
  const desk = useDesk(open)

  describe('bundles', () => {
    const bundle = (amount: bigint) => createPayment({ allowance: { unit: 'request', amount } })

    it('are used in parallel, up to the remaining amount', async () => {
      const payment = bundle(5n)
      const answers = await Promise.all(Array.from({ length: 20 }, () => desk.ledger.take(takeOf(payment))))
      const grants = answers.filter(({ kind }) => kind === 'granted').map((answer) => granted(answer).grant)
      expect(grants).toHaveLength(5)
      expect(new Set(grants.map(({ fence }) => fence)).size).toBe(5)
      for (const [index, grant] of grants.entries()) {
        expect(await desk.kindOf(takeOf(payment))).toBe('busy')
        expect(await desk.ledger.end(grant, 'delivered', 1n)).toBe(true)
        expect(await desk.stateOf(payment)).toBe(index < 4 ? 'busy' : 'spent')
      }
    })

    it('report the rest beside the grants', async () => {
      const payment = bundle(3n)
      const { grant, remaining } = granted(await desk.ledger.take(takeOf(payment)))
      expect(remaining).toBe(2n)
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 2n })
      await desk.ledger.end(grant, 'not_started', 0n)
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 3n })
      expect(granted(await desk.ledger.take(takeOf(payment, { amount: 2n }))).remaining).toBe(1n)
    })

    it('return only lapsed grants', async () => {
      const payment = bundle(3n)
      const lost = await desk.grantOf(takeOf(payment))
      desk.clock.advance(leaseMs / 2)
      const held = await desk.grantOf(takeOf(payment))
      desk.clock.advance(leaseMs / 2)
      expect(granted(await desk.ledger.take(takeOf(payment, { amount: 3n }))).grant.amount).toBe(2n)
      expect(await desk.ledger.end(lost, 'delivered', 1n)).toBe(false)
      expect(await desk.ledger.end(held, 'delivered', 1n)).toBe(true)
    })

    it('allow three deliveries for each request', async () => {
      const payment = bundle(4n)
      for (let time = 1; time <= 12; time++) await desk.use(takeOf(payment), 'partial')
      expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    })

    it('pay one request for the twentieth free use and each one after it', async () => {
      const payment = bundle(4n)
      const left = async () => (await desk.ledger.peek(payment.tx))?.remaining
      for (let time = 1; time <= 19; time++) await desk.use(takeOf(payment), 'no_body')
      expect(await left()).toBe(4n)
      await desk.use(takeOf(payment), 'no_body')
      await desk.use(takeOf(payment), 'no_body')
      expect(await left()).toBe(2n)
      expect(await desk.use(takeOf(payment), 'delivered')).toBe(true)
      expect(await desk.use(takeOf(payment), 'no_body')).toBe(true)
      expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    })
  })

  describe('bytes', () => {
    const megabyte = createPayment({ allowance: { unit: 'byte', amount: 1_000_000n } })
    const bytes = () => createPayment({ allowance: megabyte.allowance })

    it('are leased in slices, the last one as large as the rest', async () => {
      const payment = bytes()
      const sizes = []
      for (let slice = 0; slice < 3; slice++) {
        sizes.push(granted(await desk.ledger.take(takeOf(payment, { amount: 400_000n }))).grant.amount)
      }
      expect(sizes).toEqual([400_000n, 400_000n, 200_000n])
      expect(await desk.kindOf(takeOf(payment))).toBe('busy')
    })

    it('return unsent bytes, and never consume more than the lease', async () => {
      const payment = bytes()
      expect(await desk.use(takeOf(payment, { amount: 400_000n }), 'delivered', 150_000n)).toBe(true)
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ remaining: 850_000n })
      expect(await desk.use(takeOf(payment, { amount: 400_000n }), 'delivered', 900_000n)).toBe(true)
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ remaining: 450_000n })
      expect(await desk.use(takeOf(payment, { amount: 900_000n }), 'delivered', 450_000n)).toBe(true)
      expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    })

    it('pay a thousand bytes, or the lease if it is less, for the twentieth free use and each further one', async () => {
      const payment = bytes()
      const left = async () => (await desk.ledger.peek(payment.tx))?.remaining
      const free = (amount: bigint) => desk.use(takeOf(payment, { amount }), 'no_body', 0n)
      for (let time = 1; time <= 19; time++) await free(400_000n)
      expect(await left()).toBe(1_000_000n)
      await free(400_000n)
      expect(await left()).toBe(999_000n)
      await free(300n)
      expect(await left()).toBe(998_700n)
      await desk.use(takeOf(payment, { amount: 998_500n }), 'delivered', 998_500n)
      await free(400_000n)
      expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    })
  })

  describe('seconds', () => {
    const hour = (changes: Partial<PaymentRecord> = {}) =>
      createPayment({ allowance: { unit: 'second', amount: 3600n }, ...changes })

    it('run from registration, not from payment, and end', async () => {
      const payment = hour({ paidAt: desk.clock.now() - 7_200_000 })
      desk.clock.advance(500_000)
      expect(granted(await desk.ledger.take(takeOf(payment))).remaining).toBe(3600n)
      desk.clock.advance(1_799_001)
      expect(granted(await desk.ledger.take(againOf(payment))).remaining).toBe(1801n)
      desk.clock.advance(1_800_998)
      expect(granted(await desk.ledger.take(againOf(payment))).remaining).toBe(1n)
      desk.clock.advance(1)
      expect(await desk.kindOf(againOf(payment))).toBe('spent')
      expect(await desk.stateOf(payment)).toBe('spent')
    })

    it('end with the time of the payment, if that is sooner', async () => {
      const payment = hour({ usableUntil: desk.clock.now() + 1000 })
      expect(await desk.kindOf(takeOf(payment))).toBe('granted')
      desk.clock.advance(1001)
      expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    })

    it('take no exclusive lease, and no kind of use shortens them', async () => {
      const payment = hour()
      for (const outcome of ['delivered', 'partial', 'no_body', 'not_started'] as const) {
        const answers = await Promise.all(Array.from({ length: 30 }, () => desk.ledger.take(takeOf(payment))))
        for (const { grant, remaining } of answers.map(granted)) {
          expect(remaining).toBe(3600n)
          expect(grant.amount).toBe(0n)
          expect(await desk.ledger.end(grant, outcome, 1n)).toBe(true)
          expect(await desk.ledger.end(grant, outcome, 1n)).toBe(false)
        }
      }
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 3600n })
    })
  })
})
