/** The state of a ledger that is opened again. */
import { describe, expect, it } from 'vitest'
import type { Allowance } from '../../src/core/payment/allowance.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { granted } from './grants-fixture.ts'
import { againOf, createPayment, leaseMs, takeOf } from './payments.ts'
import { places } from './places.ts'

const payment = (unit: Allowance['unit'], amount: bigint) => createPayment({ allowance: { unit, amount } })
const grantOf = async (ledger: Ledger, ...take: Parameters<typeof takeOf>) =>
  granted(await ledger.take(takeOf(...take))).grant

describe.each(places)('a %s ledger', (_name, make) => {
  it('that is opened again knows which positions of a file were sent, which arrived, and which are on their way', async () => {
    const place = await make()
    const first = await place.open()
    const file = payment('file', 1000n)
    await first.end(await grantOf(first, file, { amount: 100n }), 'delivered', 100n)
    for (let time = 0; time < 3; time++) {
      await first.end(await grantOf(first, file, { from: 300n, amount: 50n }), 'partial', 50n)
    }
    const held = [1, 2, 3].map(() => grantOf(first, file, { from: 600n, amount: 10n }))
    const grants = await Promise.all(held)
    await first.close()

    const second = await place.open()
    expect(await second.peek(file.tx)).toMatchObject({ state: 'open', remaining: 900n, allowance: file.allowance })
    const reach = async (from: bigint) => {
      const taken = await second.take(againOf(file, { from, amount: 1000n }))
      if (taken.kind !== 'granted') return taken.kind
      await second.end(taken.grant, 'not_started', 0n)
      return taken.grant.amount
    }
    expect([await reach(0n), await reach(349n), await reach(350n)]).toEqual([300n, 'spent', 250n])
    expect([await reach(609n), await reach(610n)]).toEqual(['busy', 390n])
    for (const grant of grants) expect(await second.end(grant, 'delivered', 10n)).toBe(true)
    expect(await reach(609n)).toBe('spent')
    expect((await second.peek(file.tx))?.remaining).toBe(890n)
  })

  it('that is opened again knows how far the bytes under a grant were counted', async () => {
    const place = await make()
    const first = await place.open()
    const bytes = payment('byte', 1000n)
    const grant = await grantOf(first, bytes, { amount: 100n })
    expect(await first.advance(grant, 80n, 200n)).toBe(200n)
    await first.close()

    const second = await place.open()
    expect((await second.peek(bytes.tx))?.remaining).toBe(720n)
    expect(await second.advance(grant, 80n, 200n)).toBe(200n)
    expect((await second.peek(bytes.tx))?.remaining).toBe(720n)
    expect(await second.renew(grant, leaseMs)).toBe(true)
    expect(await second.end(grant, 'delivered', 130n)).toBe(true)
    expect((await second.peek(bytes.tx))?.remaining).toBe(870n)
  })
})
