/** What every ledger promises, whatever keeps it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Consequence } from '../../src/core/delivery.ts'
import type { Grant, PaymentRecord, Take, Taken } from '../../src/core/ports.ts'
import { LedgerUnavailable } from '../../src/core/ports.ts'
import type { LedgerStore } from '../../src/ledger/identity.ts'
import { LedgerConfigurationError } from '../../src/ledger/identity.ts'
import type { TestClock } from './payments.ts'
import { againOf, createPayment, createTestClock, leaseMs, takeOf } from './payments.ts'
import type { Shelf } from './stores.ts'
import { stores } from './stores.ts'

describe.each(stores)('the %s ledger', (_name, open) => {
  let clock: TestClock
  let shelf: Shelf
  let ledger: LedgerStore
  beforeEach(async () => {
    clock = createTestClock()
    shelf = await open(clock)
    ledger = shelf.ledger
  })
  afterEach(() => shelf.clear())

  const take = (take: Take) => ledger.take(take)
  const kindOf = async (asked: Take) => (await take(asked)).kind
  const stateOf = async (payment: PaymentRecord) => (await ledger.peek(payment.tx))?.state
  const grantOf = async (asked: Take): Promise<Grant> => granted(await take(asked)).grant
  const use = async (asked: Take, consequence: Consequence, used = 1n) =>
    ledger.end(await grantOf(asked), consequence, used)

  describe('one request', () => {
    it('T92, T113: gives one of two hundred simultaneous takes the grant', async () => {
      const payment = createPayment()
      const answers = await Promise.all(Array.from({ length: 200 }, () => take(takeOf(payment))))
      expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(1)
      expect(answers.filter(({ kind }) => kind === 'busy')).toHaveLength(199)
    })

    it('is spent by a settled delivery, for ever', async () => {
      const payment = createPayment()
      expect(await use(takeOf(payment), 'settle')).toBe(true)
      for (const wait of [0, leaseMs, 3_600_000]) {
        clock.advance(wait)
        expect(await kindOf(takeOf(payment))).toBe('spent')
        expect(await kindOf(againOf(payment))).toBe('spent')
      }
    })

    it('T114: works again after it was given back', async () => {
      const payment = createPayment()
      for (let time = 0; time < 50; time++) expect(await use(takeOf(payment), 'release')).toBe(true)
      expect(await use(againOf(payment), 'settle')).toBe(true)
    })

    it('T117: is spent by the third delivery that was given back', async () => {
      const payment = createPayment()
      for (const next of ['granted', 'granted', 'spent']) {
        await use(takeOf(payment), 'count')
        expect(await stateOf(payment)).toBe(next === 'granted' ? 'open' : next)
      }
      expect(await kindOf(takeOf(payment))).toBe('spent')
    })

    it('T170: is spent by the twentieth free use', async () => {
      const payment = createPayment()
      for (let time = 1; time <= 20; time++) {
        expect(await stateOf(payment)).toBe(time === 1 ? undefined : 'open')
        await use(takeOf(payment), 'free')
      }
      expect(await kindOf(takeOf(payment))).toBe('spent')
    })

    it('T115: lapses when its lease is over, which counts for nothing', async () => {
      const payment = createPayment()
      for (let time = 0; time < 30; time++) {
        expect(await kindOf(takeOf(payment))).toBe('granted')
        clock.advance(leaseMs - 1)
        expect(await kindOf(againOf(payment))).toBe('busy')
        expect(await stateOf(payment)).toBe('busy')
        clock.advance(1)
        expect(await stateOf(payment)).toBe('open')
      }
    })

    it.each<Consequence>(['settle', 'count', 'free', 'release'])(
      'does not let a holder whose lease was retaken %s it',
      async (consequence) => {
        const payment = createPayment()
        const lost = await grantOf(takeOf(payment))
        clock.advance(leaseMs)
        const held = await grantOf(takeOf(payment))
        expect(await ledger.renew(lost, leaseMs)).toBe(false)
        expect(await ledger.end(lost, consequence, 1n)).toBe(false)
        expect(await kindOf(takeOf(payment))).toBe('busy')
        expect(await ledger.end(held, 'settle', 1n)).toBe(true)
      },
    )

    it('lets a holder end or renew a lapsed grant that nobody retook', async () => {
      const [settled, kept] = [createPayment(), createPayment()]
      const [first, second] = [await grantOf(takeOf(settled)), await grantOf(takeOf(kept))]
      clock.advance(leaseMs)
      expect(await ledger.end(first, 'settle', 1n)).toBe(true)
      expect(await kindOf(takeOf(settled))).toBe('spent')
      expect(await ledger.renew(second, leaseMs)).toBe(true)
      expect(await kindOf(takeOf(kept))).toBe('busy')
    })

    it('keeps a renewed lease, and never makes one shorter', async () => {
      const payment = createPayment()
      const grant = await grantOf(takeOf(payment))
      expect(await ledger.renew(grant, leaseMs * 2)).toBe(true)
      expect(await ledger.renew(grant, 1)).toBe(true)
      clock.advance(leaseMs * 2 - 1)
      expect(await kindOf(takeOf(payment))).toBe('busy')
      clock.advance(1)
      expect(await kindOf(takeOf(payment))).toBe('granted')
    })

    it('ends a grant once', async () => {
      const payment = createPayment({ allowance: { unit: 'request', amount: 5n } })
      const grant = await grantOf(takeOf(payment))
      expect(await ledger.end(grant, 'settle', 1n)).toBe(true)
      for (const consequence of ['settle', 'count', 'free', 'release'] as const) {
        expect(await ledger.end(grant, consequence, 1n)).toBe(false)
      }
      expect(await ledger.renew(grant, leaseMs)).toBe(false)
      expect(await ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 4n })
    })

    it('gives every grant of a payment a higher fence', async () => {
      const payment = createPayment()
      let last = 0n
      for (const consequence of ['release', 'count', 'free', 'release', 'settle'] as const) {
        const grant = await grantOf(takeOf(payment))
        expect(grant.fence).toBeGreaterThan(last)
        last = grant.fence
        await ledger.end(grant, consequence, 1n)
      }
    })

    it('cannot be taken after its time, but what was taken before can end', async () => {
      const payment = createPayment({ usableUntil: clock.now() + 10 })
      clock.advance(10)
      const grant = await grantOf(takeOf(payment))
      clock.advance(1)
      expect(await stateOf(payment)).toBe('spent')
      expect(await kindOf(takeOf(payment))).toBe('spent')
      expect(await ledger.renew(grant, leaseMs)).toBe(true)
      expect(await ledger.end(grant, 'settle', 1n)).toBe(true)
    })

    it('knows grants only of their own payment', async () => {
      const [left, right] = [createPayment(), createPayment()]
      const grant = await grantOf(takeOf(left))
      await grantOf(takeOf(right))
      expect(await ledger.end({ ...grant, fence: grant.fence + 1n }, 'settle', 1n)).toBe(false)
      expect(await ledger.end({ ...grant, tx: createPayment().tx }, 'settle', 1n)).toBe(false)
      expect(await ledger.end(grant, 'settle', 1n)).toBe(true)
      expect(await stateOf(right)).toBe('busy')
    })
  })

  describe('registration', () => {
    it('is needed once', async () => {
      const payment = createPayment()
      expect(await kindOf(againOf(payment))).toBe('unknown')
      expect(await ledger.peek(payment.tx)).toBeUndefined()
      expect(await use(takeOf(payment), 'release')).toBe(true)
      expect(await use(againOf(payment), 'settle')).toBe(true)
    })

    it('T29: refuses a transaction that was used for another request', async () => {
      const payment = createPayment()
      await use(takeOf(payment), 'release')
      const other = { ...payment, request: 'request-2' }
      expect(await kindOf(takeOf(other))).toBe('foreign')
      expect(await kindOf(againOf(other))).toBe('foreign')
      expect(await kindOf(takeOf(payment))).toBe('granted')
      expect(await kindOf(takeOf(other))).toBe('foreign')
    })

    it('T91: gives each of two payments of one request a use of its own', async () => {
      const payments = [createPayment(), createPayment()]
      for (const payment of payments) expect(await use(takeOf(payment), 'settle')).toBe(true)
    })

    it('stays as it was first made', async () => {
      const payment = createPayment()
      await use(takeOf(payment), 'release')
      const richer = { ...payment, scope: 'other', allowance: { unit: 'request', amount: 9n } } as const
      expect(await take(takeOf(richer))).toMatchObject({ kind: 'granted', remaining: 0n })
      expect(await ledger.peek(payment.tx)).toMatchObject({ scope: payment.scope, remaining: 0n })
    })

    it('T57: keeps a late payment, which opens nothing', async () => {
      const payment = createPayment()
      await ledger.recordLate(payment)
      await ledger.recordLate({ ...payment, scope: 'other' })
      expect(await ledger.peek(payment.tx)).toMatchObject({ state: 'late', remaining: 0n, scope: payment.scope })
      expect(await kindOf(againOf(payment))).toBe('unknown')
    })

    it('lets a late payment be used where it is valid, even for another request', async () => {
      const late = createPayment()
      await ledger.recordLate(late)
      clock.advance(5000)
      const valid = {
        ...late,
        request: 'request-2',
        scope: 'other',
        allowance: { unit: 'second', amount: 10n },
      } as const
      expect(await take(takeOf(valid))).toMatchObject({ kind: 'granted', remaining: 10n })
      expect(await ledger.peek(late.tx)).toMatchObject({ state: 'open', request: 'request-2', scope: 'other' })
      expect(await kindOf(takeOf(late))).toBe('foreign')
    })

    it('is not undone by a late record', async () => {
      const payment = createPayment()
      await use(takeOf(payment), 'settle')
      await ledger.recordLate(payment)
      expect(await kindOf(takeOf(payment))).toBe('spent')
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
        const { grant } = granted(await take(takeOf(payment, { amount: most })))
        expect(grant.amount).toBe(allowance.amount)
        expect(await ledger.end(grant, 'settle', most)).toBe(true)
        expect(await ledger.peek(payment.tx)).toEqual({
          request: payment.request,
          payer: payment.payer,
          scope,
          token: 'USDC',
          received: most,
          state: 'spent',
          remaining: 0n,
        })
      }
    })

    it('T41: tells payments apart by all 64 bytes, wherever they lie in memory', async () => {
      const payment = createPayment()
      await use(takeOf(payment), 'settle')
      for (const place of [0, 31, 32, 63]) {
        const near = payment.tx.slice()
        near[place] = (near[place] ?? 0) ^ 1
        expect(await ledger.peek(near)).toBeUndefined()
      }
      const inside = new Uint8Array(80)
      inside.set(payment.tx, 9)
      expect(await stateOf({ ...payment, tx: inside.subarray(9, 73) })).toBe('spent')
      expect(await stateOf({ ...payment, tx: Buffer.from(payment.tx) })).toBe('spent')
    })
  })

  describe('bundles', () => {
    const bundle = (amount: bigint) => createPayment({ allowance: { unit: 'request', amount } })

    it('are used in parallel, up to what is left', async () => {
      const payment = bundle(5n)
      const answers = await Promise.all(Array.from({ length: 20 }, () => take(takeOf(payment))))
      const grants = answers.filter(({ kind }) => kind === 'granted').map((answer) => granted(answer).grant)
      expect(grants).toHaveLength(5)
      expect(new Set(grants.map(({ fence }) => fence)).size).toBe(5)
      for (const [index, grant] of grants.entries()) {
        expect(await kindOf(takeOf(payment))).toBe('busy')
        expect(await ledger.end(grant, 'settle', 1n)).toBe(true)
        expect(await stateOf(payment)).toBe(index < 4 ? 'busy' : 'spent')
      }
    })

    it('say what is left beside the grants', async () => {
      const payment = bundle(3n)
      const { grant, remaining } = granted(await take(takeOf(payment)))
      expect(remaining).toBe(2n)
      expect(await ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 2n })
      await ledger.end(grant, 'release', 0n)
      expect(await ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 3n })
      expect(granted(await take(takeOf(payment, { amount: 2n }))).remaining).toBe(1n)
    })

    it('give back only what lapsed', async () => {
      const payment = bundle(3n)
      const lost = await grantOf(takeOf(payment))
      clock.advance(leaseMs / 2)
      const held = await grantOf(takeOf(payment))
      clock.advance(leaseMs / 2)
      expect(granted(await take(takeOf(payment, { amount: 3n }))).grant.amount).toBe(2n)
      expect(await ledger.end(lost, 'settle', 1n)).toBe(false)
      expect(await ledger.end(held, 'settle', 1n)).toBe(true)
    })

    it('allow three deliveries for each request', async () => {
      const payment = bundle(4n)
      for (let time = 1; time <= 12; time++) await use(takeOf(payment), 'count')
      expect(await kindOf(takeOf(payment))).toBe('spent')
    })

    it('pay one request for the twentieth free use and each one after it', async () => {
      const payment = bundle(4n)
      const left = async () => (await ledger.peek(payment.tx))?.remaining
      for (let time = 1; time <= 19; time++) await use(takeOf(payment), 'free')
      expect(await left()).toBe(4n)
      await use(takeOf(payment), 'free')
      await use(takeOf(payment), 'free')
      expect(await left()).toBe(2n)
      expect(await use(takeOf(payment), 'settle')).toBe(true)
      expect(await use(takeOf(payment), 'free')).toBe(true)
      expect(await kindOf(takeOf(payment))).toBe('spent')
    })
  })

  describe('bytes', () => {
    const megabyte = createPayment({ allowance: { unit: 'byte', amount: 1_000_000n } })
    const bytes = () => createPayment({ allowance: megabyte.allowance })

    it('are leased in slices, the last one as large as what is left', async () => {
      const payment = bytes()
      const sizes = []
      for (let slice = 0; slice < 3; slice++) {
        sizes.push(granted(await take(takeOf(payment, { amount: 400_000n }))).grant.amount)
      }
      expect(sizes).toEqual([400_000n, 400_000n, 200_000n])
      expect(await kindOf(takeOf(payment))).toBe('busy')
    })

    it('give back what was not sent, and never consume more than was leased', async () => {
      const payment = bytes()
      expect(await use(takeOf(payment, { amount: 400_000n }), 'settle', 150_000n)).toBe(true)
      expect(await ledger.peek(payment.tx)).toMatchObject({ remaining: 850_000n })
      expect(await use(takeOf(payment, { amount: 400_000n }), 'settle', 900_000n)).toBe(true)
      expect(await ledger.peek(payment.tx)).toMatchObject({ remaining: 450_000n })
      expect(await use(takeOf(payment, { amount: 900_000n }), 'settle', 450_000n)).toBe(true)
      expect(await kindOf(takeOf(payment))).toBe('spent')
    })

    it('are spent by the twentieth free use', async () => {
      const payment = bytes()
      for (let time = 1; time <= 20; time++) await use(takeOf(payment), 'free', 0n)
      expect(await kindOf(takeOf(payment))).toBe('spent')
    })
  })

  describe('seconds', () => {
    const hour = (changes: Partial<PaymentRecord> = {}) =>
      createPayment({ allowance: { unit: 'second', amount: 3600n }, ...changes })

    it('run from registration, not from payment, and end', async () => {
      const payment = hour({ paidAt: clock.now() - 7_200_000 })
      clock.advance(500_000)
      expect(granted(await take(takeOf(payment))).remaining).toBe(3600n)
      clock.advance(1_799_001)
      expect(granted(await take(againOf(payment))).remaining).toBe(1801n)
      clock.advance(1_800_998)
      expect(granted(await take(againOf(payment))).remaining).toBe(1n)
      clock.advance(1)
      expect(await kindOf(againOf(payment))).toBe('spent')
      expect(await stateOf(payment)).toBe('spent')
    })

    it('end with the time of the payment, if that is sooner', async () => {
      const payment = hour({ usableUntil: clock.now() + 1000 })
      expect(await kindOf(takeOf(payment))).toBe('granted')
      clock.advance(1001)
      expect(await kindOf(takeOf(payment))).toBe('spent')
    })

    it('take no exclusive lease, and no kind of use shortens them', async () => {
      const payment = hour()
      for (const consequence of ['settle', 'count', 'free', 'release'] as const) {
        const answers = await Promise.all(Array.from({ length: 30 }, () => take(takeOf(payment))))
        for (const { grant, remaining } of answers.map(granted)) {
          expect(remaining).toBe(3600n)
          expect(grant.amount).toBe(0n)
          expect(await ledger.end(grant, consequence, 1n)).toBe(true)
          expect(await ledger.end(grant, consequence, 1n)).toBe(false)
        }
      }
      expect(await ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 3600n })
    })
  })

  describe('the chain it belongs to', () => {
    it('T73: is remembered once it is known, and no other is accepted', async () => {
      await ledger.pinGenesis('genesis-1')
      await ledger.pinGenesis('genesis-1')
      await expect(ledger.pinGenesis('genesis-2')).rejects.toThrow(LedgerConfigurationError)
      await expect(ledger.pinGenesis('genesis-2')).rejects.toThrow(/another chain.*genesis-1, not genesis-2/)
    })
  })

  it('T119: answers nothing once it is closed', async () => {
    const payment = createPayment()
    const grant = await grantOf(takeOf(payment))
    await ledger.close()
    await ledger.close()
    const calls = [
      () => ledger.peek(payment.tx),
      () => ledger.take(takeOf(payment)),
      () => ledger.renew(grant, leaseMs),
      () => ledger.end(grant, 'settle', 1n),
      () => ledger.recordLate(createPayment()),
      () => ledger.pinGenesis('genesis-1'),
    ]
    for (const call of calls) await expect(call()).rejects.toThrow(LedgerUnavailable)
  })

  it('T168: answers nothing while the time is unknown', async () => {
    const payment = createPayment()
    clock.advance(Number.NaN)
    await expect(ledger.take(takeOf(payment))).rejects.toThrow(LedgerUnavailable)
    await expect(ledger.peek(payment.tx)).rejects.toThrow(LedgerUnavailable)
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
    ['half a slot', (payment) => takeOf({ ...payment, slot: 0.5 })],
  ])('throws on %s, and keeps nothing of it', async (_case, ask) => {
    const payment = createPayment()
    await expect(ledger.take(ask(payment))).rejects.toThrow(RangeError)
    expect(await ledger.peek(payment.tx)).toBeUndefined()
  })

  it('throws on ends and renewals that make no sense, and changes nothing', async () => {
    const payment = createPayment()
    const grant = await grantOf(takeOf(payment))
    await expect(ledger.end(grant, 'settle', -1n)).rejects.toThrow(RangeError)
    await expect(ledger.renew(grant, -1)).rejects.toThrow(RangeError)
    await expect(ledger.recordLate({ ...payment, slot: -0.5 })).rejects.toThrow(RangeError)
    expect(await ledger.end(grant, 'settle', 1n)).toBe(true)
  })

  it('never writes when it peeks', async () => {
    const payment = createPayment()
    const grant = await grantOf(takeOf(payment))
    clock.advance(leaseMs)
    expect(await stateOf(payment)).toBe('open')
    expect(await ledger.end(grant, 'settle', 1n)).toBe(true)
    expect(await ledger.peek(createPayment().tx)).toBeUndefined()
  })
})

function granted(taken: Taken): Extract<Taken, { kind: 'granted' }> {
  if (taken.kind !== 'granted') throw new Error(`not granted but ${taken.kind}`)
  return taken
}
