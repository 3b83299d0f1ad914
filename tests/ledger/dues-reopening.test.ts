/** Payables and outgoing transactions outlive the process, and the audit finds changes that the ledger did not make. */
import { describe, expect, it } from 'vitest'
import type { PayeeName } from '../../src/core/payouts/ports/rewards.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
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
import { againOf, createPayment, leaseMs, startOfTests, takeOf } from './payments.ts'
import type { Place } from './places.ts'
import { places } from './places.ts'

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

describe.each(places)('a %s ledger', (_name, make) => {
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
