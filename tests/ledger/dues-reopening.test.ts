/**
 * What is owed and what goes out outlives the process; a ledger of an earlier version takes part from then on; and what was
 * tampered with is found.
 */
import { describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { PayeeName } from '../../src/core/payouts/ports/rewards.ts'
import { formatRefund } from '../../src/core/payouts/refunds.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import type { Kept, Place } from './old-schemas.ts'
import { places } from './old-schemas.ts'
import {
  accrualOf,
  accrue,
  bytes,
  developer,
  dispatchesOf,
  lineOf,
  partner,
  plannedBy,
  planOf,
  rewardsOf,
  signedBy,
} from './payables-fixture.ts'
import { againOf, createPayment, identity, leaseMs, startOfTests, takeOf } from './payments.ts'

const both = { 'partner:partner-wallet': 100n, 'developer:developer-wallet': 40n }

async function planFor(ledger: Ledger, ...names: readonly PayeeName[]) {
  const lines = []
  for (const name of names) lines.push(await lineOf(rewardsOf(ledger), name))
  return plannedBy(await dispatchesOf(ledger).plan(planOf({ lines })))
}

async function land(ledger: Ledger, id: string): Promise<void> {
  await dispatchesOf(ledger).sign(id, 1, bytes)
  await dispatchesOf(ledger).land(id, 2, 1)
}

describe.each(places)('a %s ledger', (name, make) => {
  const hex = (tx: Uint8Array): string => `${name === 'postgres' ? "'\\x" : "x'"}${Buffer.from(tx).toString('hex')}'`

  it('that is opened again knows the payables, the payments that wait for accrual, and the open transactions', async () => {
    const place = await make()
    const first = await place.open()
    await rewardsOf(first).start()
    await first.take(takeOf(createPayment({ finality: 'finalized' })))
    await accrue(rewardsOf(first), accrualOf(both))
    await rewardsOf(first).park(developer, 'frozen', startOfTests + 5)
    const { id } = await planFor(first, partner)
    const signed = signedBy(await dispatchesOf(first).sign(id, 1, bytes))
    await rewardsOf(first).verify({ host: 'a', wallet: 'w', from: 1, until: 2 })
    const look = async (ledger: Ledger) => {
      const [rewards, dispatches] = [rewardsOf(ledger), dispatchesOf(ledger)]
      const owed = [await rewards.payees({ most: 9 }), await rewards.sums(), await rewards.accruals(0, 9)]
      const out = [await dispatches.open(), await dispatches.lines(id), await rewards.verifications()]
      return [...owed, ...out, await rewards.accruable(9)]
    }
    const before = await look(first)
    await first.close()
    const second = await place.open()
    expect(await look(second)).toEqual(before)
    expect(await dispatchesOf(second).open()).toEqual([signed])
    await second.take(takeOf(createPayment({ finality: 'finalized' })))
    expect(await rewardsOf(second).countAccruable()).toBe(2)
  })

  it('of an earlier version subtracts the refunds that have landed from its books', async () => {
    const worth = 12_345_678_901_234_567n
    const [whole, part, late, open] = [
      createPayment({ endpoint: '/a', received: 10n ** 13n, worth, payer: 'p', paidAt: startOfTests - 999_000 }),
      createPayment({ endpoint: '/a', received: 3n, worth, payer: 'p' }),
      createPayment({ endpoint: '/b' }),
      createPayment({ endpoint: '/b', token: 'SOL', worth: undefined }),
    ] as const
    // Zeros in front are ones in base58.
    whole.tx.fill(0, 0, 5)
    const kept: readonly Kept[] = [
      { payment: whole },
      { payment: part },
      { payment: late, late: true },
      { payment: open },
    ]
    const place = await make({ schema: 8, kept, seen: [] })
    for (const [payment, endpoint] of [whole, part, late, open].map((one) => [one, one.endpoint] as const)) {
      const value = payment.worth === undefined ? 'NULL' : `'${payment.worth}'`
      await place.sql(
        `UPDATE payments SET worth = ${value}, endpoint = '${endpoint}' WHERE tx = ${hex(payment.tx)} RETURNING tx`,
      )
    }
    const refunds = [
      [whole, 10n ** 13n, 'landed', 1],
      [part, 1n, 'landed', 26],
      [late, 5n, 'landed', 26],
      [open, 7n, 'landed', 26],
      [createPayment(), 9n, 'landed', 26],
      [createPayment(), 9n, 'dropped', 26],
    ] as const
    for (const [index, [{ tx }, units, state, hours]] of refunds.entries()) {
      const about = formatRefund({ payment: encodeBase58(tx), token: 'USDC', units, reason: 'late' })
      await place.sql(`INSERT INTO dispatches (id, kind, lane, state, version, at, changed_at, attempts, sealed, slot, why,
          about, sent) VALUES ('r${index}', 'refund', 'refund/${index}', '${state}', 3, 0, ${startOfTests + hours * 3_600_000}, 1,
          '', 1, '', '${JSON.stringify(about).slice(1, -1)}', '0') RETURNING at`)
    }
    await place.sql(`INSERT INTO dispatches (id, kind, lane, state, version, at, changed_at, attempts, sealed, slot, why,
        about, sent) VALUES ('odd', 'refund', 'odd', 'landed', 3, 0, 0, 1, '', 1, '', 'no JSON', '0') RETURNING at`)
    const ledger = await place.open({ ...identity, reportToken: 'USDC' })
    const books = ledger.books ?? expect.fail()
    // The first books were made before these payments had a worth.
    const refunded = async () =>
      (await books.endpoints({}, 9)).map((sum) => [sum.endpoint, sum.token, sum.refunded, sum.refundedWorth])
    const wanted = [
      ['', 'SOL', 0n, 0n],
      ['', 'USDC', 0n, 0n],
      ['/a', 'USDC', 10n ** 13n + 1n, worth + worth / 3n],
      ['/b', 'SOL', 7n, 0n],
    ]
    expect((await refunded()).toSorted()).toEqual(wanted)
    const day = startOfTests + 26 * 3_600_000 - ((startOfTests + 26 * 3_600_000) % 86_400_000)
    expect(await books.sums({ from: day, to: day + 86_400_000 })).toMatchObject([
      { token: 'SOL', payments: 0, refunded: 7n, refundedWorth: 0n },
      { token: 'USDC', payments: 0, refunded: 1n, refundedWorth: worth / 3n },
    ])
    await books.rebuild('USDC')
    expect(await books.audit()).toEqual([])
    expect((await refunded()).toSorted()).toEqual(wanted.slice(2))
  })

  it('of an earlier version accrues payments that become final from then on, and can refund older ones', async () => {
    const final: Kept = { payment: createPayment({ finality: 'finalized' }) }
    const [open, used]: readonly Kept[] = [{ payment: createPayment() }, { payment: createPayment(), used: 1n }]
    const place = await make({ schema: 5, kept: [final, open ?? expect.fail(), used ?? expect.fail()], seen: [] })
    const ledger = await place.open()
    expect(await rewardsOf(ledger).audit()).toEqual([])
    await rewardsOf(ledger).start()
    expect(await rewardsOf(ledger).countAccruable()).toBe(0)
    const all = [open, used].map((kept) => ({ tx: kept?.payment.tx ?? expect.fail(), finality: 'finalized' as const }))
    await ledger.journal.conclude(all)
    const { payments } = await rewardsOf(ledger).accruable(9)
    expect(payments.map(({ isDelivered }) => isDelivered).toSorted()).toEqual([false, true])
    const refund = (kept: Kept | undefined) =>
      dispatchesOf(ledger).plan(
        planOf({ kind: 'refund', lockKey: `${Math.random()}`, voids: kept?.payment.tx ?? expect.fail() }),
      )
    expect([(await refund(open)).kind, (await refund(used)).kind]).toEqual(['planned', 'in_use'])
    expect((await ledger.take(againOf(open?.payment ?? expect.fail()))).kind).toBe('spent')
  })

  it('of an earlier version counts payouts that were signed before', async () => {
    const place = await make({ schema: 7, kept: [], seen: [] })
    const insert = (id: string, kind: string, attempts: number) =>
      place.sql(`INSERT INTO dispatches (id, kind, lane, state, version, at, changed_at, attempts, sealed, slot, why, about, sent)
        VALUES ('${id}', '${kind}', '', 'planned', 1, 1, ${startOfTests}, ${attempts}, '', 0, '', '', '0')`)
    await insert('a', 'payout', 2)
    await insert('b', 'payout', 0)
    await insert('c', 'conversion', 1)
    const { signings } = dispatchesOf(await place.open())
    expect([await signings(startOfTests), await signings(startOfTests + 1)]).toEqual([1n, 0n])
  })

  it('keeps a refunded payment refunded, regardless of the earlier state of a server', async () => {
    const place = await make()
    const [one, other] = [await place.open(), await place.open()]
    const payment = createPayment()
    const taken = await one.take(takeOf(payment))
    place.clock.advance(leaseMs)
    const { id } = plannedBy(
      await dispatchesOf(other).plan(planOf({ kind: 'refund', lockKey: 'refund:1', voids: payment.tx })),
    )
    if (taken.kind === 'granted') expect(await one.end(taken.grant, 'delivered', 1n)).toBe(false)
    expect((await one.take(takeOf(payment))).kind).toBe('spent')
    await one.journal.conclude([{ tx: payment.tx, finality: 'finalized' }])
    expect((await one.peek(payment.tx))?.state).toBe('spent')
    await dispatchesOf(one).drop(id, 1, '')
    expect((await other.take(againOf(payment))).kind).toBe('granted')
  })

  describe('finds, when it adds up again,', () => {
    const story = async (place: Place) => {
      const ledger = await place.open()
      await accrue(rewardsOf(ledger), accrualOf(both), accrualOf(both))
      const { id } = await planFor(ledger, partner)
      await land(ledger, id)
      await accrue(rewardsOf(ledger), accrualOf(both))
      await planFor(ledger, partner)
      expect(await rewardsOf(ledger).audit()).toEqual([])
      return rewardsOf(ledger)
    }

    it.each([
      ['a payee who is owed more', "UPDATE payees SET owed = '121' WHERE role = 'developer'", 'developer-wallet owed'],
      ['a payee who is paid less', "UPDATE payees SET paid = '3' WHERE role = 'partner'", 'partner-wallet paid'],
      ['a reservation that is gone', "UPDATE payees SET reserved = '0' WHERE role = 'partner'", 'wallet reserved'],
      ['a share that is gone', 'DELETE FROM shares WHERE number = 3', 'developer-wallet accrued'],
      ['a payee who is gone', "DELETE FROM payees WHERE role = 'developer'", 'developer-wallet accrued'],
      ['one who stands elsewhere', "UPDATE payees SET upto = 1 WHERE role = 'developer'", 'developer-wallet owed'],
      ['sums of another size', "UPDATE role_sums SET paid = '7' WHERE role = 'partner'", 'partner paid'],
      ['lines that are gone', "DELETE FROM payout_lines WHERE gross = '200'", 'partner-wallet paid'],
    ])('%s', async (_what, statement, line) => {
      const place = await make()
      const rewards = await story(place)
      await place.sql(statement)
      const found = await rewards.audit()
      expect(found.map((one) => one.line).join('\n')).toContain(line)
      for (const { kept, counted } of found) expect(kept).not.toBe(counted)
    })

    it('a number that is missing', async () => {
      const place = await make()
      const rewards = await story(place)
      await accrue(rewards, accrualOf({}, { why: 'no_partner' }))
      await place.sql('DELETE FROM accruals WHERE number = 4')
      await accrue(rewards, accrualOf({}, { why: 'no_partner' }))
      await place.sql('UPDATE accruals SET number = 9 WHERE number = 4')
      expect(await rewards.audit()).toEqual([{ line: 'accruals', kept: '9', counted: '4' }])
    })
  })
})
