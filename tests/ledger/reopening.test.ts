/** What a ledger still knows when it is opened again, by the version that wrote it or by the first that sells files. */
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import type { Allowance } from '../../src/core/payment/allowance.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { steps } from '../../src/ledger/sqlite/migrations.ts'
import { newPath, open } from './files.ts'
import { granted } from './grants-fixture.ts'
import type { Kept } from './old-schemas.ts'
import { places } from './old-schemas.ts'
import { againOf, createPayment, leaseMs, startOfTests, takeOf } from './payments.ts'

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

  describe.each([2, 3, 4, 5])('of version %s of the schema', (schema) => {
    const deadline = startOfTests + leaseMs
    const bundle: Kept = {
      payment: payment('request', 5n),
      used: 2n,
      deliveries: 14n,
      freeUses: 19n,
      grants: [{ fence: 7n, amount: 1n, deadline }],
    }
    const bytes: Kept = {
      payment: payment('byte', 1000n),
      used: 300n,
      grants: [
        { fence: 2n, amount: 150n, deadline: startOfTests - 1 },
        { fence: 3n, amount: 200n, deadline },
      ],
    }
    const hour: Kept = { payment: payment('second', 3600n), grants: [{ fence: 1n, amount: 0n, deadline }] }
    const spent: Kept = { payment: payment('request', 1n), used: 1n, freeUses: 3n }
    const late: Kept = { payment: payment('byte', 10n), late: true }
    const most = 2n ** 64n - 1n
    const odd: Kept = {
      payment: createPayment({ scope: 'a\0b\ud800', received: most, finality: 'finalized', slot: 4 }),
    }
    const unclaimed = { ...createPayment({ slot: 12 }), received: most }
    const { tx, recipient, request, payer, token, received, slot, paidAt } = unclaimed
    const seen = { tx, recipient, request, payer, token, received, slot, paidAt }
    // What the version before did not know.
    const unknown = { endpoint: '', claimableUntil: 0, required: undefined, payableUntil: 0 }
    const sighting = { ...seen, ...unknown }
    const old = { schema, kept: [bundle, bytes, hour, spent, late, odd], seen: [sighting] }
    const grantIn = ({ payment: { tx }, grants = [] }: Kept) => ({
      tx,
      amount: 1n,
      from: 0n,
      fence: 0n,
      ...grants.at(-1),
    })

    it('keeps every payment as it was, with the grants on it', async () => {
      const place = await make(old)
      const ledger = await place.open()
      const standing = async (kept: Kept) => {
        const { state, remaining, allowance, scope, received } = (await ledger.peek(kept.payment.tx)) ?? {}
        expect([allowance, scope, received]).toEqual([
          kept.payment.allowance,
          kept.payment.scope,
          kept.payment.received,
        ])
        return [state, remaining]
      }
      expect(await standing(bundle)).toEqual(['open', 2n])
      expect(await standing(bytes)).toEqual(['open', 500n])
      expect(await standing(hour)).toEqual(['open', 3600n])
      expect(await standing(spent)).toEqual(['spent', 0n])
      expect(await standing(late)).toEqual(['late', 0n])
      expect(await standing(odd)).toEqual(['open', 1n])

      expect(await ledger.end(grantIn(bundle), 'no_body', 0n)).toBe(true)
      expect(await standing(bundle)).toEqual(['open', 2n])
      const next = await grantOf(ledger, bundle.payment)
      expect(next.fence).toBe(8n)
      expect(await ledger.end(next, 'partial', 1n)).toBe(true)
      expect(await standing(bundle)).toEqual(['spent', 0n])

      expect(await ledger.advance(grantIn(bytes), 150n, 100n)).toBe(100n)
      expect(await standing(bytes)).toEqual(['open', 450n])
      expect(await ledger.end({ ...grantIn(bytes), fence: 2n }, 'delivered', 150n)).toBe(false)
      expect(await ledger.end(grantIn(bytes), 'delivered', 160n)).toBe(true)
      expect(await standing(bytes)).toEqual(['open', 540n])

      place.clock.advance(leaseMs)
      expect(await ledger.renew(grantIn(hour), leaseMs)).toBe(true)
      expect(await ledger.end(grantIn(hour), 'delivered', 1n)).toBe(true)
      expect((await ledger.take(againOf(late.payment))).kind).toBe('unknown')
      expect((await ledger.take(takeOf(late.payment))).kind).toBe('granted')
    })

    it('keeps the other tables beside the payments', async () => {
      const { journal } = await (await make(old)).open()
      expect(await journal.mark('address-1')).toEqual({ signature: 'signature-1', slot: 9 })
      expect(await journal.unclaimed(10)).toEqual([sighting])
      const unfinal = (await journal.unfinal(10)) ?? []
      expect(unfinal.map(({ tx }) => Buffer.from(tx).toString('hex')).toSorted()).toEqual(
        [bundle, bytes, hour, spent, late].map(({ payment: { tx } }) => Buffer.from(tx).toString('hex')).toSorted(),
      )
    })

    it('counts all its payments, without a value, because earlier versions stored none', async () => {
      const day = Math.floor(startOfTests / 86_400_000) * 86_400_000
      const at = (paidAt: number, received: bigint, more: Partial<Kept> = {}): Kept => ({
        payment: createPayment({ paidAt, received, token: paidAt % 2 === 0 ? 'USDC' : 'SOL' }),
        ...more,
      })
      const kept = [
        ...[at(day - 2, most), at(day - 4, most), at(day, 7n), at(day + 3_600_000, 999_999_999_999n)],
        ...[at(day + 1, 1_000_000_000_000n), at(day + 2, 10n, { late: true }), at(day + 4, 11n, { isReverted: true })],
      ]
      const ledger = await (await make({ schema, kept, seen: [] })).open()
      const { books } = ledger
      expect(await books.audit()).toEqual([])
      expect(await books.sums({})).toEqual([
        {
          token: 'SOL',
          payments: 1,
          received: 1_000_000_000_000n,
          worth: 0n,
          unvalued: 1,
          refunded: 0n,
          refundedWorth: 0n,
        },
        {
          token: 'USDC',
          payments: 4,
          received: 2n * most + 1_000_000_000_006n,
          worth: 0n,
          unvalued: 4,
          refunded: 0n,
          refundedWorth: 0n,
        },
      ])
      expect((await books.sums({ from: day, to: day + 3_600_000 }))?.map(({ received }) => received)).toEqual([
        1_000_000_000_000n,
        7n,
      ])
      expect((await books.endpoints({ to: day }, 5))?.map(({ endpoint, payments }) => [endpoint, payments])).toEqual([
        ['', 2],
      ])
      await ledger.take(takeOf(kept[5]?.payment ?? expect.fail()))
      expect(await books.audit()).toEqual([])
      const captures = (await books.listPayments({ order: 'oldest', most: 10 })) ?? []
      expect(captures.map(({ state, worth }) => [state, worth])).toEqual([
        ...Array.from({ length: 4 }, () => ['confirmed', undefined]),
        ['confirmed', 10_000_000_000n],
        ['reverted', undefined],
        ['confirmed', undefined],
      ])
    })

    it('knows which of the payments it has seen are still open', async () => {
      const sightingOf = (
        { payment: { tx, recipient, request, payer, token, received, paidAt } }: Kept,
        slot: number,
      ) => ({
        ...{ tx, recipient, request, payer, token, received, paidAt, slot },
        ...unknown,
      })
      const seen = [sightingOf(spent, 1), sightingOf(late, 2), sighting]
      const ledger = await (await make({ ...old, seen })).open()
      expect((await ledger.journal.unclaimed(10))?.map(({ slot }) => slot)).toEqual([12, 2])
      const states = (await ledger.books.listPayments({ order: 'latest', most: 10 }))?.map(({ state }) => state) ?? []
      expect(states.filter((state) => state === 'unclaimed')).toHaveLength(1)
      expect(states).toHaveLength(7)
      await ledger.take(takeOf(late.payment))
      await ledger.take(takeOf(createPayment({ tx: sighting.tx })))
      expect(await ledger.journal.unclaimed(10)).toEqual([])
    })

    it('may be opened by many at once, and sells files then', async () => {
      const place = await make(old)
      const ledgers = await Promise.all([1, 2, 3, 4].map(() => place.open()))
      const file = payment('file', 50n)
      const kinds = await Promise.all(ledgers.map(async (ledger) => (await ledger.take(takeOf(file))).kind))
      expect(kinds.toSorted()).toEqual(['busy', 'granted', 'granted', 'granted'])
      for (const ledger of ledgers) expect((await ledger.peek(bytes.payment.tx))?.remaining).toBe(500n)
    })
  })
})

it.each([2, 3, 4, 5])(
  'a file of version %s has afterwards the shape of a new one, and nothing that refers to nothing',
  async (schema) => {
    const [old, fresh] = [newPath('old.db'), newPath('new.db')]
    const before = new DatabaseSync(old)
    for (const step of steps.slice(0, schema)) before.exec(step)
    before.exec(`PRAGMA application_id = 0x70617973; PRAGMA user_version = ${schema}`)
    before.close()
    const shapes = []
    for (const path of [old, fresh]) {
      await (await open(path)).close()
      const db = new DatabaseSync(path)
      const shape = db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all()
      shapes.push(JSON.stringify(shape))
      expect(db.prepare('PRAGMA foreign_key_check').all()).toEqual([])
      expect(db.prepare('PRAGMA foreign_key_list(grants)').all()).toMatchObject([{ table: 'payments', to: 'id' }])
      db.close()
    }
    expect(shapes[0]).toBe(shapes[1])
    expect(shapes[0]).not.toContain('next_')
  },
)
