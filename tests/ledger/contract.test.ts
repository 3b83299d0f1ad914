/** What every ledger promises, whatever keeps it: registration, and the grants of one request. */
import { describe, expect, it } from 'vitest'
import type { DeliveryOutcome } from '../../src/core/payment/delivery.ts'
import { granted, useDesk } from './grants-fixture.ts'
import { againOf, createPayment, leaseMs, takeOf } from './payments.ts'
import { storesWithMemory } from './stores.ts'

describe.each(storesWithMemory)('the %s ledger', (_name, open) => {
  const desk = useDesk(open)

  describe('one request', () => {
    it('T92, T113: gives one of two hundred simultaneous takes the grant', async () => {
      const payment = createPayment()
      const answers = await Promise.all(Array.from({ length: 200 }, () => desk.ledger.take(takeOf(payment))))
      expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(1)
      expect(answers.filter(({ kind }) => kind === 'busy')).toHaveLength(199)
    })

    it('is spent by a settled delivery, for ever', async () => {
      const payment = createPayment()
      expect(await desk.use(takeOf(payment), 'delivered')).toBe(true)
      for (const wait of [0, leaseMs, 3_600_000]) {
        desk.clock.advance(wait)
        expect(await desk.kindOf(takeOf(payment))).toBe('spent')
        expect(await desk.kindOf(againOf(payment))).toBe('spent')
      }
    })

    it('T114: works again after it was given back', async () => {
      const payment = createPayment()
      for (let time = 0; time < 50; time++) expect(await desk.use(takeOf(payment), 'not_started')).toBe(true)
      expect(await desk.use(againOf(payment), 'delivered')).toBe(true)
    })

    it('T117: is spent by the third delivery that was given back', async () => {
      const payment = createPayment()
      for (const state of ['open', 'open', 'spent']) {
        await desk.use(takeOf(payment), 'partial')
        expect(await desk.stateOf(payment)).toBe(state)
      }
      expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    })

    it('T170: is spent by the twentieth free use', async () => {
      const payment = createPayment()
      for (let time = 1; time <= 20; time++) {
        expect(await desk.stateOf(payment)).toBe(time === 1 ? undefined : 'open')
        await desk.use(takeOf(payment), 'no_body')
      }
      expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    })

    it('T115: lapses when its lease is over, which counts for nothing', async () => {
      const payment = createPayment()
      for (let time = 0; time < 30; time++) {
        expect(await desk.kindOf(takeOf(payment))).toBe('granted')
        desk.clock.advance(leaseMs - 1)
        expect(await desk.kindOf(againOf(payment))).toBe('busy')
        expect(await desk.stateOf(payment)).toBe('busy')
        desk.clock.advance(1)
        expect(await desk.stateOf(payment)).toBe('open')
      }
    })

    it.each<DeliveryOutcome>(['delivered', 'partial', 'no_body', 'not_started'])(
      'does not let a holder whose lease was retaken %s it',
      async (outcome) => {
        const payment = createPayment()
        const lost = await desk.grantOf(takeOf(payment))
        desk.clock.advance(leaseMs)
        const held = await desk.grantOf(takeOf(payment))
        expect(await desk.ledger.renew(lost, leaseMs)).toBe(false)
        expect(await desk.ledger.end(lost, outcome, 1n)).toBe(false)
        expect(await desk.kindOf(takeOf(payment))).toBe('busy')
        expect(await desk.ledger.end(held, 'delivered', 1n)).toBe(true)
      },
    )

    it('lets a holder end or renew a lapsed grant that no other grant took over', async () => {
      const [settled, kept] = [createPayment(), createPayment()]
      const [first, second] = [await desk.grantOf(takeOf(settled)), await desk.grantOf(takeOf(kept))]
      desk.clock.advance(leaseMs)
      expect(await desk.ledger.end(first, 'delivered', 1n)).toBe(true)
      expect(await desk.kindOf(takeOf(settled))).toBe('spent')
      expect(await desk.ledger.renew(second, leaseMs)).toBe(true)
      expect(await desk.kindOf(takeOf(kept))).toBe('busy')
    })

    it('keeps a renewed lease, and never makes one shorter', async () => {
      const payment = createPayment()
      const grant = await desk.grantOf(takeOf(payment))
      expect(await desk.ledger.renew(grant, leaseMs * 2)).toBe(true)
      expect(await desk.ledger.renew(grant, 1)).toBe(true)
      desk.clock.advance(leaseMs * 2 - 1)
      expect(await desk.kindOf(takeOf(payment))).toBe('busy')
      desk.clock.advance(1)
      expect(await desk.kindOf(takeOf(payment))).toBe('granted')
    })

    it('ends a grant once', async () => {
      const payment = createPayment({ allowance: { unit: 'request', amount: 5n } })
      const grant = await desk.grantOf(takeOf(payment))
      expect(await desk.ledger.end(grant, 'delivered', 1n)).toBe(true)
      for (const outcome of ['delivered', 'partial', 'no_body', 'not_started'] as const) {
        expect(await desk.ledger.end(grant, outcome, 1n)).toBe(false)
      }
      expect(await desk.ledger.renew(grant, leaseMs)).toBe(false)
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 4n })
    })

    it('gives every grant of a payment a higher fence', async () => {
      const payment = createPayment()
      let last = 0n
      for (const outcome of ['not_started', 'partial', 'no_body', 'not_started', 'delivered'] as const) {
        const grant = await desk.grantOf(takeOf(payment))
        expect(grant.fence).toBeGreaterThan(last)
        last = grant.fence
        await desk.ledger.end(grant, outcome, 1n)
      }
    })

    it('cannot be taken after its deadline, but earlier grants can end', async () => {
      const payment = createPayment({ usableUntil: desk.clock.now() + 10 })
      desk.clock.advance(10)
      const grant = await desk.grantOf(takeOf(payment))
      desk.clock.advance(1)
      expect(await desk.stateOf(payment)).toBe('spent')
      expect(await desk.kindOf(takeOf(payment))).toBe('spent')
      expect(await desk.ledger.renew(grant, leaseMs)).toBe(true)
      expect(await desk.ledger.end(grant, 'delivered', 1n)).toBe(true)
    })

    it('knows grants only of their own payment', async () => {
      const [left, right] = [createPayment(), createPayment()]
      const grant = await desk.grantOf(takeOf(left))
      await desk.grantOf(takeOf(right))
      expect(await desk.ledger.end({ ...grant, fence: grant.fence + 1n }, 'delivered', 1n)).toBe(false)
      expect(await desk.ledger.end({ ...grant, tx: createPayment().tx }, 'delivered', 1n)).toBe(false)
      expect(await desk.ledger.end(grant, 'delivered', 1n)).toBe(true)
      expect(await desk.stateOf(right)).toBe('busy')
    })
  })

  describe('registration', () => {
    it('is needed once', async () => {
      const payment = createPayment()
      expect(await desk.kindOf(againOf(payment))).toBe('unknown')
      expect(await desk.ledger.peek(payment.tx)).toBeUndefined()
      expect(await desk.use(takeOf(payment), 'not_started')).toBe(true)
      expect(await desk.use(againOf(payment), 'delivered')).toBe(true)
    })

    it('T29: refuses a transaction that was used for another request', async () => {
      const payment = createPayment()
      await desk.use(takeOf(payment), 'not_started')
      const other = { ...payment, request: 'request-2' }
      expect(await desk.kindOf(takeOf(other))).toBe('foreign')
      expect(await desk.kindOf(againOf(other))).toBe('foreign')
      expect(await desk.kindOf(takeOf(payment))).toBe('granted')
      expect(await desk.kindOf(takeOf(other))).toBe('foreign')
    })

    it('T91: gives each of two payments of one request a use of its own', async () => {
      const payments = [createPayment(), createPayment()]
      for (const payment of payments) expect(await desk.use(takeOf(payment), 'delivered')).toBe(true)
    })

    it('stays as it was first made', async () => {
      const payment = createPayment()
      await desk.use(takeOf(payment), 'not_started')
      const richer = { ...payment, scope: 'other', allowance: { unit: 'request', amount: 9n } } as const
      expect(await desk.ledger.take(takeOf(richer))).toMatchObject({ kind: 'granted', remaining: 0n })
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ scope: payment.scope, remaining: 0n })
    })

    it('T57: keeps a late payment, which opens nothing', async () => {
      const payment = createPayment()
      await desk.ledger.recordLate(payment)
      await desk.ledger.recordLate({ ...payment, scope: 'other' })
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ state: 'late', remaining: 0n, scope: payment.scope })
      expect(await desk.kindOf(againOf(payment))).toBe('unknown')
    })

    it('lets a late payment be used where it is valid, even for another request', async () => {
      const late = createPayment()
      await desk.ledger.recordLate(late)
      desk.clock.advance(5000)
      const valid = {
        ...late,
        request: 'request-2',
        scope: 'other',
        allowance: { unit: 'second', amount: 10n },
      } as const
      expect(await desk.ledger.take(takeOf(valid))).toMatchObject({ kind: 'granted', remaining: 10n })
      expect(await desk.ledger.peek(late.tx)).toMatchObject({ state: 'open', request: 'request-2', scope: 'other' })
      expect(await desk.kindOf(takeOf(late))).toBe('foreign')
    })

    it('is not undone by a late record', async () => {
      const payment = createPayment()
      await desk.use(takeOf(payment), 'delivered')
      await desk.ledger.recordLate(payment)
      expect(await desk.kindOf(takeOf(payment))).toBe('spent')
    })

    it('keeps the largest amounts and any text exactly', async () => {
      const most = 2n ** 64n - 1n
      const odd = [
        '',
        ' ',
        "'; DROP TABLE payments; --",
        '"\\"',
        'a\0b',
        '\u0000',
        '雪😀e\u0301',
        '\ud800',
        '\\u0000',
        'x'.repeat(9000),
      ]
      for (const scope of odd) {
        const allowance = { unit: 'byte', amount: 2n ** 63n - 1n } as const
        const payment = createPayment({ scope, required: most, received: most, allowance })
        const { grant } = granted(await desk.ledger.take(takeOf(payment, { amount: most })))
        expect(grant.amount).toBe(allowance.amount)
        expect(await desk.ledger.end(grant, 'delivered', most)).toBe(true)
        expect(await desk.ledger.peek(payment.tx)).toEqual({
          request: payment.request,
          payer: payment.payer,
          scope,
          token: 'USDC',
          required: most,
          received: most,
          state: 'spent',
          allowance,
          remaining: 0n,
          usableUntil: payment.usableUntil,
        })
      }
    })

    it('T41: tells payments apart by all 64 bytes, wherever they lie in memory', async () => {
      const payment = createPayment()
      await desk.use(takeOf(payment), 'delivered')
      for (const place of [0, 31, 32, 63]) {
        const near = payment.tx.slice()
        near[place] = (near[place] ?? 0) ^ 1
        expect(await desk.ledger.peek(near)).toBeUndefined()
      }
      const inside = new Uint8Array(80)
      inside.set(payment.tx, 9)
      expect(await desk.stateOf({ ...payment, tx: inside.subarray(9, 73) })).toBe('spent')
      expect(await desk.stateOf({ ...payment, tx: Buffer.from(payment.tx) })).toBe('spent')
    })
  })
})
