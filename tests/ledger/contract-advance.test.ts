/** What every ledger promises, whatever keeps it, of bytes that are used while they are held. */
import { describe, expect, it } from 'vitest'
import type { PaymentRecord } from '../../src/core/ports/ledger.ts'
import { granted, useDesk } from './grants-fixture.ts'
import { againOf, createPayment, leaseMs, takeOf } from './payments.ts'
import { stores } from './stores.ts'

describe.each(stores)('the %s ledger, of bytes in advances', (_name, open) => {
  const desk = useDesk(open)
  const bytes = (amount: bigint) => createPayment({ allowance: { unit: 'byte', amount } })
  const leftOf = async ({ tx }: PaymentRecord) => (await desk.ledger.peek(tx))?.remaining

  it('consumes the used part and holds the next one', async () => {
    const payment = bytes(1000n)
    const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
    expect(grant).toMatchObject({ from: 0n, amount: 100n })
    expect(await desk.ledger.advance(grant, 60n, 200n)).toBe(200n)
    expect(await leftOf(payment)).toBe(740n)
    expect(await desk.ledger.advance(grant, 260n, 50n)).toBe(50n)
    expect(await leftOf(payment)).toBe(690n)
    expect(await desk.ledger.end(grant, 'delivered', 275n)).toBe(true)
    expect(await leftOf(payment)).toBe(725n)
  })

  it('consumes nothing more when it is said again, or late', async () => {
    const payment = bytes(1000n)
    const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
    for (let time = 0; time < 3; time++) {
      expect(await desk.ledger.advance(grant, 100n, 100n)).toBe(100n)
      expect(await leftOf(payment)).toBe(800n)
    }
    expect(await desk.ledger.advance(grant, 40n, 100n)).toBe(100n)
    expect(await leftOf(payment)).toBe(800n)
    expect(await desk.ledger.end(grant, 'delivered', 100n)).toBe(true)
    expect(await leftOf(payment)).toBe(900n)
  })

  it('never consumes more than is held', async () => {
    const payment = bytes(1000n)
    const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
    expect(await desk.ledger.advance(grant, 150n, 100n)).toBe(100n)
    expect(await leftOf(payment)).toBe(800n)
    expect(await desk.ledger.end(grant, 'delivered', 5000n)).toBe(true)
    expect(await leftOf(payment)).toBe(800n)
  })

  it('returns the remaining amount, and finally 0', async () => {
    const payment = bytes(250n)
    const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
    expect(await desk.ledger.advance(grant, 100n, 100n)).toBe(100n)
    expect(await desk.stateOf(payment)).toBe('open')
    expect(await desk.ledger.advance(grant, 200n, 100n)).toBe(50n)
    expect(await desk.kindOf(againOf(payment))).toBe('busy')
    expect(await desk.ledger.advance(grant, 250n, 100n)).toBe(0n)
    expect(await desk.kindOf(againOf(payment))).toBe('spent')
    expect(await desk.ledger.advance(grant, 250n, 100n)).toBe(0n)
    expect(await desk.ledger.end(grant, 'delivered', 250n)).toBe(true)
    expect(await desk.stateOf(payment)).toBe('spent')
  })

  it('may hold nothing for a while', async () => {
    const payment = bytes(100n)
    const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
    expect(await desk.ledger.advance(grant, 30n, 0n)).toBe(0n)
    expect(await desk.use(againOf(payment, { amount: 100n }), 'delivered', 50n)).toBe(true)
    expect(await desk.ledger.advance(grant, 30n, 100n)).toBe(20n)
    expect(await desk.ledger.end(grant, 'delivered', 50n)).toBe(true)
    expect(await desk.stateOf(payment)).toBe('spent')
  })

  it('leaves the held parts of other grants alone', async () => {
    const payment = bytes(1000n)
    const one = await desk.grantOf(takeOf(payment, { amount: 100n }))
    const other = await desk.grantOf(takeOf(payment, { amount: 700n }))
    expect(await desk.ledger.advance(one, 100n, 500n)).toBe(200n)
    expect(await desk.kindOf(againOf(payment))).toBe('busy')
    expect(await desk.ledger.end(other, 'delivered', 300n)).toBe(true)
    expect(await desk.ledger.advance(one, 300n, 500n)).toBe(400n)
    expect(await desk.ledger.end(one, 'delivered', 700n)).toBe(true)
    expect(await desk.stateOf(payment)).toBe('spent')
  })

  it('never holds one byte for two of many that advance at once', async () => {
    const payment = bytes(1000n)
    const take = () => desk.grantOf(takeOf(payment, { amount: 50n }))
    const grants = await Promise.all(Array.from({ length: 10 }, take))
    const held = await Promise.all(grants.map((grant) => desk.ledger.advance(grant, 50n, 90n)))
    expect(held.reduce<bigint>((sum, amount) => sum + (amount ?? 0n), 0n)).toBe(500n)
    await Promise.all(grants.map((grant) => desk.ledger.end(grant, 'delivered', 1000n)))
    expect(await desk.stateOf(payment)).toBe('spent')
  })

  it('keeps the lease as long as it was', async () => {
    const payment = bytes(1000n)
    const grant = await desk.grantOf(takeOf(payment, { amount: 1000n }))
    desk.clock.advance(leaseMs - 1)
    expect(await desk.ledger.advance(grant, 10n, 990n)).toBe(990n)
    expect(await desk.kindOf(againOf(payment))).toBe('busy')
    expect(await desk.ledger.renew(grant, leaseMs)).toBe(true)
    desk.clock.advance(leaseMs - 1)
    expect(await desk.kindOf(againOf(payment))).toBe('busy')
    desk.clock.advance(1)
    expect(granted(await desk.ledger.take(againOf(payment, { amount: 1000n }))).grant.amount).toBe(990n)
  })

  it('T115: loses with a process only the bytes since the last advance', async () => {
    const payment = bytes(1000n)
    const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
    for (let used = 100n; used <= 500n; used += 100n) expect(await desk.ledger.advance(grant, used, 100n)).toBe(100n)
    desk.clock.advance(leaseMs)
    expect(await leftOf(payment)).toBe(500n)
    expect(granted(await desk.ledger.take(againOf(payment, { amount: 1000n }))).grant.amount).toBe(500n)
  })

  it('continues with a lapsed lease that no other grant took over', async () => {
    const payment = bytes(300n)
    const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
    desk.clock.advance(leaseMs)
    expect(await desk.ledger.advance(grant, 100n, 100n)).toBe(100n)
    expect(await leftOf(payment)).toBe(200n)
    expect(await desk.ledger.renew(grant, leaseMs)).toBe(true)
    expect(await leftOf(payment)).toBe(100n)
    expect(await desk.ledger.end(grant, 'delivered', 200n)).toBe(true)
    expect(await leftOf(payment)).toBe(100n)
  })

  it('is refused to a holder with a lease that was taken over or has ended, and changes nothing then', async () => {
    const payment = bytes(300n)
    const lost = await desk.grantOf(takeOf(payment, { amount: 100n }))
    desk.clock.advance(leaseMs)
    const held = await desk.grantOf(takeOf(payment, { amount: 100n }))
    expect(await desk.ledger.advance(lost, 100n, 100n)).toBeUndefined()
    expect(await leftOf(payment)).toBe(200n)
    expect(await desk.ledger.end(held, 'delivered', 100n)).toBe(true)
    expect(await desk.ledger.advance(held, 200n, 100n)).toBeUndefined()
    expect(await desk.ledger.advance({ ...held, tx: createPayment().tx }, 1n, 1n)).toBeUndefined()
    expect(await leftOf(payment)).toBe(200n)
  })

  it.each(['ends', 'goes on', 'is renewed'])(
    'makes void what has lapsed, as a take does: a holder of that, who then %s, gets nothing twice',
    async (deed) => {
      const payment = bytes(1000n)
      const slow = await desk.grantOf(takeOf(payment, { amount: 500n }))
      desk.clock.advance(leaseMs / 2)
      const quick = await desk.grantOf(takeOf(payment, { amount: 500n }))
      desk.clock.advance(leaseMs / 2)
      expect(await desk.ledger.advance(quick, 500n, 500n)).toBe(500n)
      if (deed === 'ends') expect(await desk.ledger.end(slow, 'delivered', 500n)).toBe(false)
      if (deed === 'goes on') expect(await desk.ledger.advance(slow, 500n, 500n)).toBeUndefined()
      if (deed === 'is renewed') expect(await desk.ledger.renew(slow, leaseMs)).toBe(false)
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ state: 'busy', remaining: 0n })
      expect(await desk.ledger.end(quick, 'delivered', 1000n)).toBe(true)
      expect(await desk.stateOf(payment)).toBe('spent')
    },
  )

  it('returns and counts as usual, but not the part consumed on the way', async () => {
    const payment = bytes(10_000n)
    for (const [outcome, left] of [
      ['not_started', 9_900n],
      ['partial', 9_800n],
      ['no_body', 9_700n],
    ] as const) {
      const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
      expect(await desk.ledger.advance(grant, 100n, 5_000n)).toBe(5_000n)
      expect(await desk.ledger.end(grant, outcome, 700n)).toBe(true)
      expect(await leftOf(payment)).toBe(left)
    }
  })

  it('throws for invalid arguments, and changes nothing', async () => {
    const payment = bytes(300n)
    const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
    await expect(desk.ledger.advance(grant, -1n, 1n)).rejects.toThrow(RangeError)
    await expect(desk.ledger.advance(grant, 1n, -1n)).rejects.toThrow(RangeError)
    await expect(desk.ledger.advance(grant, 2n ** 63n, 1n)).rejects.toThrow(RangeError)
    await expect(desk.ledger.advance({ ...grant, tx: grant.tx.subarray(1) }, 1n, 1n)).rejects.toThrow(RangeError)
    expect(await leftOf(payment)).toBe(200n)
    expect(await desk.ledger.advance(grant, 2n ** 63n - 1n, 2n ** 64n)).toBe(200n)
  })

  it.each(['request', 'second', 'file'] as const)('throws where not bytes but a %s was sold', async (unit) => {
    const payment = createPayment({ allowance: { unit, amount: 300n } })
    const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
    const before = await desk.ledger.peek(payment.tx)
    await expect(desk.ledger.advance(grant, 100n, 200n)).rejects.toThrow(/^Ledger: only bytes are advanced\.$/)
    expect(await desk.ledger.peek(payment.tx)).toEqual(before)
    expect(await desk.ledger.end(grant, 'not_started', 0n)).toBe(true)
  })
})
