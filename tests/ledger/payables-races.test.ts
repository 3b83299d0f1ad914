/** Several servers at once on one database, and several connections on one file: of two that want the same, one gets it. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { OutgoingTransaction, OutgoingTransactions, PayoutLine } from '../../src/core/payouts/ports/outgoing.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import { openLedger } from '../../src/ledger/open.ts'
import type { Database } from '../../src/ledger/postgres/database.ts'
import { openDatabase } from '../../src/ledger/postgres/database.ts'
import { formatHex } from '../../src/ledger/postgres/payments-and-grants.ts'
import { postgresServer } from '../harness/database.ts'
import {
  accrualOf,
  accrue,
  bytes,
  dispatchesOf,
  lineOf,
  partner,
  plannedBy,
  planOf,
  rewardsOf,
  sumsOf,
} from './payables-fixture.ts'
import { againOf, createPayment, createTestClock, identity, leaseMs, startOfTests, takeOf } from './payments.ts'
import type { Place } from './places.ts'
import { places } from './places.ts'

const rounds = Array.from({ length: 8 }, (_, index) => index)

async function openMany(place: Place, number = 4): Promise<readonly Ledger[]> {
  return Promise.all(Array.from({ length: number }, () => place.open()))
}

describe.each(places)('servers on one %s ledger', (_name, make) => {
  it('T150: of two payouts to one payee plan one', async () => {
    const ledgers = await openMany(await make())
    const [first = expect.fail()] = ledgers
    const rewards = rewardsOf(first)
    for (const round of rounds) {
      await accrue(rewards, accrualOf({ 'partner:partner-wallet': 10n, [`developer:${round}`]: 1n }))
      const lines = [await lineOf(rewards, partner), await lineOf(rewards, { role: 'developer', payee: `${round}` })]
      const order = (index: number) => (index % 2 === 0 ? lines : lines.toReversed())
      const plannings = await Promise.all(
        ledgers.map((ledger, index) => dispatchesOf(ledger).plan(planOf({ lines: order(index) }))),
      )
      const won = plannings.filter(({ kind }) => kind === 'planned').map(plannedBy)
      expect([won.length, plannings.filter(({ kind }) => kind === 'taken').length]).toEqual([1, 3])
      await landEach(ledgers, won[0] ?? expect.fail())
    }
    expect(await sumsOf(rewards, partner)).toEqual([80n, 0n, 0n, 80n])
    expect(await rewards.audit()).toEqual([])
  })

  it('number accruals without a gap, and of several after the same last one write one', async () => {
    const ledgers = await openMany(await make())
    const rewards = ledgers.map(rewardsOf)
    for (const last of rounds) {
      const done = await Promise.all(
        rewards.map((one) => one.accrue(last, [accrualOf({ 'partner:partner-wallet': 1n })])),
      )
      expect(done.filter(Boolean)).toHaveLength(1)
    }
    const numbers = (await rewards[0]?.accruals(0, 100))?.map(({ number }) => number)
    expect(numbers).toEqual(rounds.map((last) => last + 1))
    expect(await sumsOf(rewards[0] ?? expect.fail(), partner)).toEqual([8n, 8n, 0n, 0n])
  })

  it('accrue a payment once, for any number of workers', async () => {
    const ledgers = await openMany(await make())
    const [first = expect.fail()] = ledgers
    await rewardsOf(first).start()
    const payments = rounds.map(() => createPayment({ finality: 'finalized' }))
    await Promise.all(payments.map((payment, index) => ledgers[index % 4]?.take(takeOf(payment))))
    const work = async (ledger: Ledger): Promise<void> => {
      const rewards = rewardsOf(ledger)
      for (;;) {
        const { payments, last } = await rewards.accruable(3)
        if (payments.length === 0) return
        await rewards.postpone([payments[0]?.tx ?? expect.fail()], startOfTests)
        await rewards.accrue(
          last,
          payments.map(({ tx }) => accrualOf({ 'partner:partner-wallet': 5n }, { tx })),
        )
      }
    }
    await Promise.all(ledgers.map(work))
    expect(await sumsOf(rewardsOf(first), partner)).toEqual([40n, 40n, 0n, 0n])
    expect(await rewardsOf(first).audit()).toEqual([])
  })

  it('sign one version once, and end it once', async () => {
    const dispatches = (await openMany(await make())).map(dispatchesOf)
    const [first = expect.fail()] = dispatches
    for (const _ of rounds) {
      const { id } = plannedBy(await first.plan(planOf()))
      const signed = await Promise.all(
        dispatches.map((one, index) => one.sign(id, 1, { ...bytes, sealed: `${index}` })),
      )
      const winner = signed.flatMap((one) => (one.kind === 'signed' ? [one.transaction] : []))
      expect(winner).toHaveLength(1)
      expect(await first.get(id)).toEqual(winner[0])
      const ended = await Promise.all(
        dispatches.map((one, index) => (index % 2 === 0 ? one.land(id, 2, 5) : one.unsign(id, 2, 'expired'))),
      )
      expect(ended.filter((one) => one !== undefined)).toHaveLength(1)
    }
  })

  it('sign no more than the budget allows, with parallel counts', async () => {
    const dispatches = (await openMany(await make())).map(dispatchesOf)
    const [first = expect.fail()] = dispatches
    for (const round of rounds) {
      const ids: string[] = []
      for (const _ of dispatches) ids.push(plannedBy(await first.plan(planOf())).id)
      const budget = { since: startOfTests, most: BigInt(2 * round + 2) }
      const signed = await Promise.all(
        dispatches.map((one, index) => one.sign(ids[index] ?? '', 1, bytes, undefined, budget)),
      )
      expect(signed.filter(({ kind }) => kind === 'spent')).toHaveLength(2)
      expect(await first.signings(startOfTests)).toBe(budget.most)
    }
  })

  it('T157: plan one for a lane, and no more than the cap', async () => {
    const ledgers = await openMany(await make())
    const dispatches = ledgers.map(dispatchesOf)
    const kinds = (plans: readonly Promise<{ readonly kind: string }>[]) =>
      Promise.all(plans.map(async (plan) => (await plan).kind)).then((all) => all.toSorted())
    for (const kind of ['conversion', 'refund'] as const)
      expect(await kinds(dispatches.map((one) => one.plan(planOf({ kind, lockKey: kind }))))).toEqual([
        ...['planned', 'taken', 'taken', 'taken'],
      ])
    const rewards = rewardsOf(ledgers[0] ?? expect.fail())
    const names = [0, 1, 2, 3].map((number) => ({ role: 'cashback', payee: `payer-${number}` }) as const)
    await accrue(rewards, ...names.map(({ payee }) => accrualOf({ [`cashback:${payee}`]: 10n })))
    const lines: PayoutLine[] = []
    for (const name of names) lines.push(await lineOf(rewards, name))
    const cap = { since: startOfTests, units: 25n }
    const capped = lines.map((line, index) => dispatches[index]?.plan(planOf({ lines: [line], cap })) ?? expect.fail())
    expect(await kinds(capped)).toEqual(['capped', 'capped', 'planned', 'planned'])
    expect(await dispatches[0]?.planned(startOfTests)).toBe(20n)
  })

  it('refund a payment or deliver it, never both', async () => {
    const place = await make()
    const ledgers = await openMany(place)
    const [first = expect.fail(), second = expect.fail(), ...others] = ledgers
    for (const round of [...rounds, ...rounds.map((round) => round + 100)]) {
      const payment = createPayment()
      await first.take(takeOf(payment))
      place.clock.advance(leaseMs)
      const refund = () =>
        dispatchesOf(second).plan(planOf({ kind: 'refund', lockKey: `refund:${round}`, voids: payment.tx }))
      const takes = () => others.map((ledger) => ledger.take(againOf(payment)))
      // Whoever is asked first mostly wins.
      const isFirst = round % 2 === 0
      const early = isFirst ? [refund()] : []
      const taking = takes()
      const [planning = expect.fail()] = await Promise.all([...early, ...(isFirst ? [] : [refund()])])
      const granted = (await Promise.all(taking)).filter(({ kind }) => kind === 'granted').length
      expect([planning.kind, granted]).toEqual(planning.kind === 'planned' ? ['planned', 0] : ['in_use', 1])
    }
  })

  it('refund an unclaimed payment or register it, never both', async () => {
    const [first = expect.fail(), ...others] = await openMany(await make())
    for (let round = 0; round < 60; round += 1) {
      const payment = createPayment()
      const refund = () =>
        dispatchesOf(first).plan(planOf({ kind: 'refund', lockKey: `refund:${round}`, voids: payment.tx }))
      const register = () => others.map((ledger) => ledger.take(takeOf(payment)))
      // A refund asks several times before it is written, so that a registration mostly comes in between.
      const early = round % 2 === 0 ? refund() : undefined
      for (let turn = 0; turn < round % 15; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      const taking = register()
      const planning = await (early ?? refund())
      const granted = (await Promise.all(taking)).filter(({ kind }) => kind === 'granted').length
      expect([planning.kind, granted]).toEqual(planning.kind === 'planned' ? ['planned', 0] : ['in_use', 1])
    }
  })

  it('do all of it at once, and it adds up', async () => {
    const place = await make()
    const ledgers = await openMany(place, 3)
    const [first = expect.fail()] = ledgers
    await rewardsOf(first).start()
    const names = ['partner:a', 'developer:b', 'cashback:c', 'treasury:d']
    const work = async (ledger: Ledger, server: number): Promise<void> => {
      const [rewards, dispatches] = [rewardsOf(ledger), dispatchesOf(ledger)]
      for (const round of rounds) {
        const payment = createPayment({ finality: 'finalized' })
        await ledger.take(takeOf(payment))
        const { last } = await rewards.accruable(1)
        const shares = Object.fromEntries(names.slice(round % 2).map((one) => [one, 7n]))
        await rewards.accrue(last, [accrualOf(shares, { tx: payment.tx })])
        await rewards.postpone([payment.tx], startOfTests)
        const due = await rewards.due(1n, 3)
        const owed = await Promise.all(due.map(({ role, payee }) => rewards.owed({ role, payee })))
        const lines = due.flatMap(({ role, payee }, index): readonly PayoutLine[] => {
          const own = owed[index]
          return own ? [{ role, payee, ...own, gross: own.units, opening: 0n }] : []
        })
        const planning = await dispatches.plan(planOf({ lines: server % 2 === 0 ? lines : lines.toReversed() }))
        if (planning.kind === 'planned') await finish(dispatches, planning.transaction, round)
      }
    }
    await Promise.all(ledgers.map(work))
    expect(await rewardsOf(first).audit()).toEqual([])
    const sums = await rewardsOf(first).sums()
    for (const { accrued, owed, reserved, paid } of sums) expect(owed + reserved + paid).toBe(accrued)
    const all = await rewardsOf(first).accruals(0, 1000)
    expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => index + 1))
  })
})

describe('a PostgreSQL ledger', () => {
  /** As the statement does that registers payments. */
  const registering = 'SELECT FROM paystile_gate FOR KEY SHARE'
  /** Runs one while the work of another server is written, but not committed yet. */
  const during = async <T>(
    work: (query: Database['query'], ledger: Ledger) => Promise<unknown>,
    meanwhile: (ledger: Ledger) => Promise<T>,
  ): Promise<T> => {
    const url = await postgresServer().place()
    const ledger = await openLedger(url, { clock: createTestClock(), identity })
    const database = openDatabase(url, 5_000)
    onTestFinished(async () => {
      await Promise.all([ledger.close(), database.close()])
    })
    let answer: Promise<T> | undefined
    await database.transact(async (query) => {
      await work(query, ledger)
      answer = meanwhile(ledger)
      await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 40))])
    })
    return answer ?? expect.fail()
  }

  it('waits with a refund for a registration that is being written', async () => {
    const [payment, other] = [createPayment(), createPayment()]
    const planning = await during(
      async (query, ledger) => {
        await ledger.take(takeOf(other))
        await query(registering)
        await query('UPDATE paystile_payments SET tx = $1 WHERE tx = $2', [formatHex(payment.tx), formatHex(other.tx)])
      },
      (ledger) => dispatchesOf(ledger).plan(planOf({ kind: 'refund', lockKey: 'refund:1', voids: payment.tx })),
    )
    expect(planning.kind).toBe('in_use')
  })

  it('waits with a registration for a refund that is being written, and sees it then', async () => {
    const [payment, other] = [createPayment(), createPayment()]
    const taken = await during(
      async (query, ledger) => {
        await dispatchesOf(ledger).plan(planOf({ kind: 'refund', lockKey: 'refund:1', voids: other.tx }))
        // Often enough that the server keeps its plan.
        for (const _ of rounds) await ledger.take(takeOf(createPayment()))
        await query('LOCK TABLE paystile_gate IN EXCLUSIVE MODE')
        await query('UPDATE paystile_dispatches SET voids = $1', [formatHex(payment.tx)])
      },
      (ledger) => ledger.take(takeOf(payment)),
    )
    expect(taken.kind).toBe('spent')
  })

  it('refunds an unclaimed payment during a vacuum or an ALTER of the payments', async () => {
    const taken = await during(
      async (query, ledger) => {
        await ledger.take(takeOf(createPayment()))
        await query('UPDATE paystile_payments SET version = version')
        await query('LOCK TABLE paystile_payments IN SHARE UPDATE EXCLUSIVE MODE')
        const refund = planOf({ kind: 'refund', lockKey: 'refund:1', voids: createPayment().tx })
        expect((await dispatchesOf(ledger).plan(refund)).kind).toBe('planned')
      },
      (ledger) => ledger.take(takeOf(createPayment())),
    )
    expect(taken.kind).toBe('granted')
  })

  it('gives a refund up for now where a registration takes long, and others go on', async () => {
    let wait: Promise<unknown> | undefined
    await during(
      async (query, ledger) => {
        await query(registering)
        wait = dispatchesOf(ledger).plan(planOf({ kind: 'refund', lockKey: 'refund:1', voids: createPayment().tx }))
        await expect(wait).rejects.toThrow(LedgerUnavailable)
      },
      (ledger) => ledger.take(takeOf(createPayment())),
    )
    expect(wait).toBeDefined()
  })
})

async function landEach(ledgers: readonly Ledger[], { id, version }: OutgoingTransaction): Promise<void> {
  const [first = expect.fail()] = ledgers.map(dispatchesOf)
  await first.sign(id, version, bytes)
  const landed = await Promise.all(ledgers.map((ledger) => dispatchesOf(ledger).land(id, version + 1, 9)))
  expect(landed.filter((one) => one !== undefined)).toHaveLength(1)
}

async function finish(dispatches: OutgoingTransactions, { id }: OutgoingTransaction, round: number): Promise<void> {
  if (round % 3 === 0) await dispatches.drop(id, 1, 'given up')
  await dispatches.sign(id, 1, bytes)
  if (round % 3 === 1) await dispatches.unsign(id, 2, 'expired')
  await dispatches.land(id, 2, 1)
}
