/** The promises of every ledger about slices of bundles. */
import { describe, expect, it } from 'vitest'
import type { Grant, PaymentRecord, SliceReport } from '../../src/core/ports/ledger.ts'
import { granted, useDesk } from './grants-fixture.ts'
import { againOf, createPayment, leaseMs, takeOf } from './payments.ts'
import { stores } from './stores.ts'

const nothing: SliceReport = { number: 1n, delivered: 0n, partial: 0n, noBody: 0n, keeps: 0n, fills: false }

describe.each(stores)('the %s ledger, of slices', (_name, open) => {
  const desk = useDesk(open)
  const register = async (amount: bigint): Promise<PaymentRecord> => {
    const payment = createPayment({ allowance: { unit: 'request', amount } })
    await desk.use(takeOf(payment), 'not_started')
    return payment
  }
  const takeSlice = async (payment: PaymentRecord) =>
    granted(await desk.ledger.take(againOf(payment, { isSlice: true })))
  const report = (grant: Grant, changes: Partial<SliceReport>) =>
    desk.ledger.reportSlice(grant, { ...nothing, ...changes })
  const leftOf = async ({ tx }: PaymentRecord) => (await desk.ledger.peek(tx))?.remaining
  /** A server takes a slice and dies. */
  const crash = async (payment: PaymentRecord): Promise<Grant> => {
    const { grant } = await takeSlice(payment)
    desk.clock.advance(leaseMs)
    return grant
  }

  it.each([
    [31n, 1n, 0n],
    [32n, 2n, 1n],
    [160n, 10n, 1n],
    [1024n, 64n, 1n],
    [1_000_000n, 64n, 1n],
  ])('holds a sixteenth of the remainder, at most 64 uses: of %s, %s', async (amount, held, from) => {
    const payment = await register(amount)
    const { grant, remaining } = await takeSlice(payment)
    expect(grant).toMatchObject({ amount: held, from })
    expect(remaining).toBe(amount - held)
    expect(await leftOf(payment)).toBe(amount - held)
  })

  it('records the ended uses of a report once, and fills the slice up', async () => {
    const payment = await register(1600n)
    const { grant } = await takeSlice(payment)
    for (let time = 0; time < 2; time += 1) {
      expect(await report(grant, { delivered: 40n, keeps: 24n, fills: true })).toEqual({
        held: 64n,
        remaining: 1496n,
        isOpen: true,
      })
      expect(await leftOf(payment)).toBe(1496n)
    }
    expect(await report(grant, { number: 2n, delivered: 60n, keeps: 4n })).toMatchObject({ held: 4n })
    expect(await leftOf(payment)).toBe(1496n)
    expect(await report(grant, { number: 3n, delivered: 3n })).toMatchObject({ held: 0n, remaining: 1497n })
    expect(await leftOf(payment)).toBe(1497n)
    expect(await report(grant, { number: 4n, delivered: 3n })).toBeUndefined()
  })

  it('never consumes or keeps more than the slice holds', async () => {
    const payment = await register(160n)
    const { grant } = await takeSlice(payment)
    expect(await report(grant, { delivered: 4n, keeps: 100n })).toMatchObject({ held: 6n })
    expect(await report(grant, { number: 2n, delivered: 100n })).toMatchObject({ held: 0n, remaining: 150n })
    await expect(report((await takeSlice(payment)).grant, { number: 2n })).rejects.toThrow(RangeError)
  })

  it('fills a slice up to a sixteenth of the present remainder, and in the end not at all', async () => {
    const payment = await register(64n)
    const { grant } = await takeSlice(payment)
    expect(grant.amount).toBe(4n)
    expect(await report(grant, { delivered: 4n, fills: true })).toMatchObject({ held: 3n, remaining: 57n })
    for (let use = 0; use < 28; use += 1) await desk.use(againOf(payment), 'delivered')
    expect(await report(grant, { number: 2n, delivered: 2n, keeps: 1n, fills: true })).toMatchObject({ held: 1n })
  })

  it('counts broken-off and free uses like those of single grants', async () => {
    const payment = await register(160n)
    const { grant } = await takeSlice(payment)
    expect(await report(grant, { noBody: 9n, keeps: 1n, fills: true })).toMatchObject({ held: 10n, remaining: 150n })
    expect(await report(grant, { number: 2n, noBody: 10n, fills: true })).toMatchObject({ held: 10n, remaining: 150n })
    expect(await report(grant, { number: 3n, noBody: 2n, keeps: 8n })).toMatchObject({ held: 8n, remaining: 150n })
    expect(await report(grant, { number: 4n, partial: 8n })).toMatchObject({ held: 0n, remaining: 158n })
    // Three times the allowance may be broken off.
    for (let slice = 0; slice < 47; slice += 1) {
      const { grant } = await takeSlice(payment)
      await report(grant, { partial: grant.amount })
    }
    const last = await takeSlice(payment)
    expect(await report(last.grant, { partial: 480n - 8n - 47n * 9n, keeps: 1n, fills: true })).toMatchObject({
      held: 1n,
      isOpen: false,
    })
    expect(await desk.stateOf(payment)).toBe('spent')
  })

  it('says that a payment was reverted, and keeps only the uses under way', async () => {
    const payment = await register(160n)
    const { grant } = await takeSlice(payment)
    await desk.journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
    expect(await report(grant, { delivered: 3n, keeps: 2n, fills: true })).toMatchObject({ held: 2n, isOpen: false })
    expect(await desk.kindOf(againOf(payment))).toBe('unknown')
  })

  it('says that the time of a payment has ended', async () => {
    const payment = await register(160n)
    const { grant } = await takeSlice(payment)
    desk.clock.advance(payment.usableUntil - desk.clock.now() + 1)
    expect(await report(grant, { delivered: 3n, keeps: 2n, fills: true })).toMatchObject({ held: 2n, isOpen: false })
  })

  it('is busy with slices when they hold the whole rest', async () => {
    const payment = await register(32n)
    const { grant } = await takeSlice(payment)
    for (let use = 0; use < 30; use += 1) await desk.use(againOf(payment), 'delivered')
    expect(await desk.ledger.take(againOf(payment))).toEqual({ kind: 'busy', hasSlices: true })
    expect(await desk.stateOf(payment)).toBe('busy')
    expect(await report(grant, { delivered: 1n })).toMatchObject({ held: 0n, remaining: 1n })
    expect(await desk.use(againOf(payment), 'delivered')).toBe(true)
    expect(await desk.stateOf(payment)).toBe('spent')
  })

  it('T195: returns the slice of a dead server three times, and then counts it as used', async () => {
    const payment = await register(320n)
    for (let death = 0; death < 3; death += 1) {
      await crash(payment)
      expect(await leftOf(payment)).toBe(320n)
    }
    const grant = await crash(payment)
    expect(grant.amount).toBe(20n)
    expect(await leftOf(payment)).toBe(300n)
    // The next grant voids the lapsed slice.
    expect((await takeSlice(payment)).remaining).toBe(300n - 18n)
    expect(await report(grant, { delivered: 20n })).toBeUndefined()
    expect(await leftOf(payment)).toBe(300n - 18n)
  })

  it('T195: returns a lapsed slice also to the report of another slice', async () => {
    const payment = await register(320n)
    const lasting = granted(await desk.ledger.take(againOf(payment, { isSlice: true, leaseMs: leaseMs * 9 }))).grant
    for (let death = 1n; death <= 3n; death += 1n) {
      await crash(payment)
      expect(await report(lasting, { number: death, keeps: 20n })).toMatchObject({ held: 20n, remaining: 300n })
    }
    const { amount } = await crash(payment)
    expect(await report(lasting, { number: 4n, keeps: 20n })).toMatchObject({ remaining: 300n - amount })
    expect(await leftOf(payment)).toBe(300n - amount)
  })

  it('T195: keeps a lapsed slice for its server until another grant takes its part', async () => {
    const payment = await register(320n)
    for (let death = 0; death < 4; death += 1) await crash(payment)
    const grant = await crash(payment)
    expect(await leftOf(payment)).toBe(320n - 20n - grant.amount)
    expect(await report(grant, { delivered: 1n })).toMatchObject({ held: 0n, remaining: 320n - 20n - 1n })
  })
})
