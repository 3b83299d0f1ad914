/** What every ledger promises, whatever keeps it, of files: each byte position is sent three times at the most. */
import { describe, expect, it } from 'vitest'
import type { DeliveryOutcome } from '../../src/core/payment/delivery.ts'
import type { PaymentRecord, Take } from '../../src/core/ports/ledger.ts'
import { granted, useDesk } from './grants-fixture.ts'
import { againOf, createPayment, leaseMs, takeOf } from './payments.ts'
import { stores } from './stores.ts'

const size = 1000n
const file = (changes: Partial<PaymentRecord> = {}) =>
  createPayment({ allowance: { unit: 'file', amount: size }, ...changes })

describe.each(stores)('the %s ledger, of files', (_name, open) => {
  const desk = useDesk(open)
  const leftOf = async ({ tx }: PaymentRecord) => (await desk.ledger.peek(tx))?.remaining
  const range = (payment: PaymentRecord, from: bigint, amount: bigint): Take => takeOf(payment, { from, amount })
  const whole = (payment: PaymentRecord) => range(payment, 0n, size)
  /** Sends what it gets of a range, or as much as `used`, and says what it got. */
  const send = async (take: Take, outcome: DeliveryOutcome, used?: bigint) => {
    const { grant } = granted(await desk.ledger.take(take))
    expect(await desk.ledger.end(grant, outcome, used ?? grant.amount)).toBe(true)
    return [grant.from, grant.from + grant.amount]
  }

  it('T117: are spent after three complete responses, because sent bytes may be lost on their way', async () => {
    const payment = file()
    for (const [missing, state] of [
      [size, 'open'],
      [0n, 'open'],
      [0n, 'spent'],
    ]) {
      const { grant, remaining } = granted(await desk.ledger.take(whole(payment)))
      expect([grant.from, grant.amount, remaining]).toEqual([0n, size, missing])
      expect(await desk.ledger.end(grant, 'delivered', size)).toBe(true)
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ state, remaining: 0n })
    }
    expect(await desk.kindOf(whole(payment))).toBe('spent')
  })

  it('are spent when three responses were broken off at the last byte', async () => {
    const payment = file()
    for (const state of ['open', 'open', 'spent']) {
      expect(await send(whole(payment), 'partial')).toEqual([0n, size])
      expect(await desk.stateOf(payment)).toBe(state)
    }
    expect(await desk.kindOf(whole(payment))).toBe('spent')
  })

  it('are resumed where they broke, as often as that happens', async () => {
    const payment = file()
    for (let from = 0n; from < size; from += 10n) {
      expect(await send(range(payment, from, size), 'partial', 10n)).toEqual([from, size])
      expect(await leftOf(payment)).toBe(size)
    }
    expect(await desk.stateOf(payment)).toBe('open')
    expect(await send(whole(payment), 'delivered')).toEqual([0n, size])
    expect(await leftOf(payment)).toBe(0n)
    expect(await send(whole(payment), 'partial')).toEqual([0n, size])
    expect(await desk.stateOf(payment)).toBe('spent')
  })

  it('report the missing bytes, for several ranges in any order', async () => {
    const payment = file()
    for (const [from, left] of [
      [600n, 600n],
      [0n, 200n],
    ] as const) {
      await send(range(payment, from, 400n), 'delivered')
      expect(await leftOf(payment)).toBe(left)
    }
    await send(range(payment, 300n, 200n), 'delivered')
    expect(await leftOf(payment)).toBe(100n)
    await send(range(payment, 500n, 99n), 'delivered')
    expect(await desk.ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 1n })
    await send(range(payment, 599n, 1n), 'delivered')
    expect(await desk.ledger.peek(payment.tx)).toMatchObject({ state: 'open', remaining: 0n })
  })

  it('are granted without a gap, up to the bytes that were sent too often', async () => {
    const payment = file()
    for (let time = 0; time < 3; time++) await send(range(payment, 400n, 100n), 'partial')
    expect(await send(whole(payment), 'not_started')).toEqual([0n, 400n])
    expect(await desk.kindOf(range(payment, 400n, 1n))).toBe('spent')
    expect(await desk.kindOf(range(payment, 499n, size))).toBe('spent')
    expect(await send(range(payment, 500n, size), 'not_started')).toEqual([500n, size])
    expect(await desk.stateOf(payment)).toBe('open')
  })

  it('count only sent bytes, and never more than the grant', async () => {
    const payment = file()
    for (let time = 0; time < 3; time++) await send(range(payment, 0n, 100n), 'partial', 30n)
    expect(await send(whole(payment), 'not_started').catch((error: Error) => error.message)).toBe(
      'not granted but spent',
    )
    expect(await send(range(payment, 30n, size), 'not_started')).toEqual([30n, size])
    for (let time = 0; time < 3; time++) await send(range(payment, 100n, 50n), 'partial', 5000n)
    expect(await send(range(payment, 30n, size), 'not_started')).toEqual([30n, 100n])
    expect(await send(range(payment, 150n, size), 'delivered', 5000n)).toEqual([150n, size])
    expect(await leftOf(payment)).toBe(150n)
  })

  it('T113: are sent by three at once, live leases counted', async () => {
    const payment = file()
    const answers = await Promise.all(Array.from({ length: 30 }, () => desk.ledger.take(whole(payment))))
    const grants = answers.filter(({ kind }) => kind === 'granted').map((answer) => granted(answer).grant)
    expect(grants.map(({ amount }) => amount)).toEqual([size, size, size])
    expect(answers.filter(({ kind }) => kind === 'busy')).toHaveLength(27)
    for (const grant of grants) {
      expect(await desk.kindOf(whole(payment))).toBe('busy')
      expect(await desk.ledger.end(grant, 'partial', 1n)).toBe(true)
    }
    expect(await desk.kindOf(whole(payment))).toBe('spent')
    expect(await send(range(payment, 1n, size), 'delivered')).toEqual([1n, size])
    expect(await leftOf(payment)).toBe(1n)
  })

  it('are sent in parallel ranges that do not stand in each other’s way', async () => {
    const payment = file()
    const ranges = Array.from({ length: 30 }, (_, index) => range(payment, BigInt(index % 10) * 100n, 100n))
    const grants = (await Promise.all(ranges.map((take) => desk.ledger.take(take)))).map(
      (taken) => granted(taken).grant,
    )
    expect(grants.map(({ amount }) => amount)).toEqual(Array(30).fill(100n))
    expect(await desk.kindOf(range(payment, 950n, 1n))).toBe('busy')
    await Promise.all(grants.slice(10, 20).map((grant) => desk.ledger.end(grant, 'delivered', 100n)))
    expect(await leftOf(payment)).toBe(0n)
    expect(await desk.kindOf(whole(payment))).toBe('busy')
    for (const grant of grants.slice(0, 10)) expect(await desk.ledger.end(grant, 'partial', 100n)).toBe(true)
    for (const grant of grants.slice(20)) expect(await desk.ledger.end(grant, 'delivered', 100n)).toBe(true)
    expect(await desk.stateOf(payment)).toBe('spent')
  })

  it('grant up to the first position that others are sending', async () => {
    const payment = file()
    const holders = [await desk.grantOf(range(payment, 700n, 100n)), await desk.grantOf(range(payment, 600n, 150n))]
    await send(range(payment, 720n, 10n), 'partial')
    expect(await send(range(payment, 500n, size), 'not_started')).toEqual([500n, 720n])
    expect(await desk.kindOf(range(payment, 725n, 1n))).toBe('busy')
    for (const holder of holders) await desk.ledger.end(holder, 'not_started', 0n)
    expect(await send(range(payment, 725n, size), 'not_started')).toEqual([725n, size])
  })

  it('T115: return lapsed parts, which do not count', async () => {
    const payment = file()
    for (let time = 0; time < 10; time++) {
      const lost = await Promise.all([1, 2, 3].map(() => desk.grantOf(whole(payment))))
      expect(await desk.kindOf(whole(payment))).toBe('busy')
      desk.clock.advance(leaseMs)
      expect(await send(whole(payment), 'not_started')).toEqual([0n, size])
      for (const grant of lost) expect(await desk.ledger.end(grant, 'partial', size)).toBe(false)
    }
    expect(await send(whole(payment), 'delivered')).toEqual([0n, size])
  })

  it('keep the place of a lease that was renewed', async () => {
    const payment = file()
    const grants = await Promise.all([1, 2, 3].map(() => desk.grantOf(range(payment, 500n, 100n))))
    for (const grant of grants) expect(await desk.ledger.renew(grant, leaseMs * 3)).toBe(true)
    desk.clock.advance(leaseMs * 2)
    expect(await desk.kindOf(range(payment, 599n, 1n))).toBe('busy')
    expect(await send(whole(payment), 'not_started')).toEqual([0n, 500n])
    expect(await send(range(payment, 600n, size), 'not_started')).toEqual([600n, size])
    for (const grant of grants) expect(await desk.ledger.end(grant, 'partial', 100n)).toBe(true)
    expect(await desk.kindOf(range(payment, 599n, 1n))).toBe('spent')
  })

  it.each([size, size + 1n, 2n ** 70n])('grant the last byte for a start at %d', async (from) => {
    const payment = file()
    expect(await send(range(payment, from, 50n), 'no_body')).toEqual([size - 1n, size])
    expect(await send(range(payment, size - 1n, 2n ** 70n), 'not_started')).toEqual([size - 1n, size])
  })

  it('T170: count the twentieth free use and each further one as a sent copy of the held part', async () => {
    const payment = file()
    for (let time = 1; time <= 19; time++) expect(await send(whole(payment), 'no_body')).toEqual([0n, size])
    expect(await send(range(payment, 0n, 100n), 'no_body')).toEqual([0n, 100n])
    expect(await leftOf(payment)).toBe(size)
    expect(await send(range(payment, 0n, 100n), 'no_body')).toEqual([0n, 100n])
    expect(await send(whole(payment), 'no_body')).toEqual([0n, size])
    expect(await desk.kindOf(whole(payment))).toBe('spent')
    expect(await send(range(payment, 100n, size), 'delivered')).toEqual([100n, size])
    expect(await send(range(payment, 100n, size), 'delivered')).toEqual([100n, size])
    expect(await desk.stateOf(payment)).toBe('spent')
  })

  it('end with the time of the payment', async () => {
    const payment = file({ usableUntil: desk.clock.now() + 10 })
    const grant = await desk.grantOf(whole(payment))
    desk.clock.advance(11)
    expect(await desk.kindOf(againOf(payment, { from: 0n, amount: size }))).toBe('spent')
    expect(await desk.ledger.end(grant, 'delivered', size)).toBe(true)
  })

  it('may be as large as anything', async () => {
    const most = 2n ** 63n - 1n
    const payment = createPayment({ allowance: { unit: 'file', amount: most } })
    expect(await send(range(payment, most - 5n, 100n), 'delivered')).toEqual([most - 5n, most])
    expect(await leftOf(payment)).toBe(most - 5n)
    for (const state of ['open', 'open', 'spent']) {
      expect((await send(range(payment, 0n, 2n ** 70n), 'delivered'))[0]).toBe(0n)
      expect(await desk.stateOf(payment)).toBe(state)
    }
  })

  it('are of one byte, too', async () => {
    const payment = createPayment({ allowance: { unit: 'file', amount: 1n } })
    expect(await send(whole(payment), 'partial', 0n)).toEqual([0n, 1n])
    for (const state of ['open', 'open', 'spent']) {
      expect(await send(whole(payment), 'delivered')).toEqual([0n, 1n])
      expect(await desk.stateOf(payment)).toBe(state)
    }
  })

  it('throw on a position before the beginning, and keep nothing of it', async () => {
    const payment = file()
    await expect(desk.ledger.take(range(payment, -1n, 1n))).rejects.toThrow(RangeError)
    expect(await desk.ledger.peek(payment.tx)).toBeUndefined()
  })

  it('stay in pieces, however many they are broken into', async () => {
    const payment = createPayment({ allowance: { unit: 'file', amount: 120n } })
    for (let from = 0n; from < 120n; from += 2n) await send(range(payment, from, 1n), 'delivered')
    for (let from = 0n; from < 120n; from += 3n) await send(range(payment, from, 1n), 'partial')
    expect(await leftOf(payment)).toBe(60n)
    expect(await send(range(payment, 0n, size), 'not_started')).toEqual([0n, 120n])
    for (let from = 0n; from < 120n; from += 6n) await send(range(payment, from, 1n), 'partial')
    expect(await send(range(payment, 1n, size), 'not_started')).toEqual([1n, 6n])
    expect(await desk.kindOf(range(payment, 6n, size))).toBe('spent')
  })
})
