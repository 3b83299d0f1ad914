/** What goes out: reserved, signed, landed or given back, each step once. The same in every store. */
import { describe, expect, it } from 'vitest'
import type { OutgoingTransaction, PlannedTransaction, SigningBudget } from '../../src/core/payouts/ports/outgoing.ts'
import { useDesk } from './grants-fixture.ts'
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
  sumsOf,
} from './payables-fixture.ts'
import { createPayment, startOfTests } from './payments.ts'
import { stores } from './stores.ts'

const both = { 'partner:partner-wallet': 100n, 'developer:developer-wallet': 40n }

describe.each(stores)('dispatches of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const rewards = () => rewardsOf(desk.ledger)
  const dispatches = () => dispatchesOf(desk.ledger)
  const plan = (changes: Partial<PlannedTransaction> = {}) => dispatches().plan(planOf(changes))
  const planned = async (changes: Partial<PlannedTransaction> = {}) => plannedBy(await plan(changes))
  const kindOf = async (changes: Partial<PlannedTransaction>) => (await plan(changes)).kind
  const sums = () => Promise.all([partner, developer].map((name) => sumsOf(rewards(), name)))
  const signed = async ({ id, version }: OutgoingTransaction) => signedBy(await dispatches().sign(id, version, bytes))
  const landed = async (dispatch: OutgoingTransaction) => {
    const { id, version } = await signed(dispatch)
    return (await dispatches().land(id, version, 7)) ?? expect.fail('not landed')
  }
  const line = (name: typeof partner, changes = {}) => lineOf(rewards(), name, changes)

  describe('a receiver', () => {
    it.each([
      ['payout', '', 'reward.paid'],
      ['conversion', 'convert', 'settlement.converted'],
      ['refund', 'refund', 'refund.sent'],
    ] as const)(
      'learns of a %s that landed once, and of none before it was configured',
      async (kind, lockKey, event) => {
        const { events: notices } = desk.ledger
        if (!notices) throw new Error('the ledger has no notices')
        await landed(await planned({ id: 'early', kind, lockKey, lines: [] }))
        await notices.start()
        const { id, version } = await signed(
          await planned({ id: 'later', kind, lockKey: lockKey && `${lockKey}-2`, lines: [] }),
        )
        await dispatches().land(id, version, 7)
        expect(await dispatches().land(id, version, 7)).toBeUndefined()
        const told = await notices.list({ most: 10 })
        expect(told.map((notice) => [notice.kind, new TextDecoder().decode(notice.tx)])).toEqual([[event, 'later']])
      },
    )
  })

  describe('a payout', () => {
    it('reserves the settled amount, pays it when it has landed, and stores the signature', async () => {
      await accrue(rewards(), accrualOf(both), accrualOf(both))
      const lines = [await line(partner, { units: 150n, opening: 20n }), await line(developer)]
      const first = await planned({ id: 'a\0', lines, about: '{"b":"\ud800"}' })
      const times = { at: startOfTests, changedAt: startOfTests }
      const fresh = {
        id: 'a\0',
        kind: 'payout',
        lockKey: '',
        state: 'planned',
        version: 1,
        ...times,
        attempts: 0,
        failures: 0,
      } as const
      expect(first).toEqual({ ...fresh, signed: undefined, slot: 0, why: '', about: '{"b":"\ud800"}' })
      expect(await dispatches().get(first.id)).toEqual(first)
      expect(await dispatches().lines(first.id)).toEqual(lines)
      expect(await sums()).toEqual([
        [200n, 0n, 200n, 0n],
        [80n, 0n, 80n, 0n],
      ])
      expect(await rewards().owed(partner)).toBeUndefined()
      await accrue(rewards(), accrualOf(both))
      desk.clock.advance(5)
      const second = signedBy(await dispatches().sign(first.id, 1, { ...bytes, sealed: 'x\0' }, 'about'))
      const after = { version: 2, changedAt: startOfTests + 5, attempts: 1, about: 'about' }
      expect(second).toEqual({ ...first, ...after, state: 'signed', signed: { ...bytes, sealed: 'x\0' } })
      desk.clock.advance(5)
      const third = await dispatches().land(first.id, 2, 77)
      const last = { version: 3, changedAt: startOfTests + 10, slot: 77, signed: { ...bytes, sealed: '' } }
      expect(third).toEqual({ ...second, ...last, state: 'landed' })
      expect(await dispatches().get(first.id)).toEqual(third)
      expect(await sums()).toEqual([
        [300n, 100n, 0n, 150n],
        [120n, 40n, 0n, 80n],
      ])
      expect((await rewards().payees({ most: 10 })).map(({ settledThrough }) => settledThrough)).toEqual([2, 2])
      expect(await rewards().sums()).toMatchObject([
        { role: 'developer', accrued: 120n, owed: 40n, reserved: 0n, paid: 80n },
        { role: 'partner', accrued: 300n, owed: 100n, reserved: 0n, paid: 150n },
      ])
      expect((await rewards().owed(partner))?.through).toBe(3)
      expect(await rewards().audit()).toEqual([])
    })

    it('is planned with all its lines, or not at all', async () => {
      await accrue(rewards(), accrualOf(both))
      const [one, two] = [await line(partner), await line(developer)]
      const before = await sums()
      expect(await kindOf({ lines: [two, { ...one, from: 0, through: 5, payee: 'nobody' }] })).toBe('taken')
      expect(await sums()).toEqual(before)
      await planned({ lines: [one] })
      expect(await kindOf({ lines: [two, one] })).toBe('taken')
      expect(await sums()).toEqual([[100n, 0n, 100n, 0n], before[1]])
      expect(await dispatches().open()).toHaveLength(1)
    })

    it('waits for the one before to the same payee, which may have moved on by then', async () => {
      await accrue(rewards(), accrualOf(both))
      const old = await line(partner)
      const first = await planned({ lines: [old] })
      await accrue(rewards(), accrualOf(both))
      const next = await line(partner)
      expect([next.from, next.through]).toEqual([1, 2])
      expect(await kindOf({ lines: [next] })).toBe('taken')
      await landed(first)
      expect(await kindOf({ lines: [old] })).toBe('taken')
      await landed(await planned({ lines: [next] }))
      expect(await sumsOf(rewards(), partner)).toEqual([200n, 0n, 0n, 200n])
    })

    it('ends that a payee is parked', async () => {
      await accrue(rewards(), accrualOf(both))
      await rewards().park(partner, 'frozen', startOfTests + 1000)
      await planned({ lines: [await line(partner)] })
      expect(await rewards().payees({ role: 'partner', most: 1 })).toMatchObject([{ why: '', parkedUntil: 0 }])
    })

    it('returns the reserved amount when it is dropped, with all later shares', async () => {
      await accrue(rewards(), accrualOf(both))
      const lines = [await line(partner), await line(developer)]
      const dispatch = await planned({ lines })
      await accrue(rewards(), accrualOf(both))
      const dropped = await dispatches().drop(dispatch.id, dispatch.version, 'no money\0')
      expect(dropped).toMatchObject({ state: 'dropped', version: 2, why: 'no money\0' })
      expect(await sums()).toEqual([
        [200n, 200n, 0n, 0n],
        [80n, 80n, 0n, 0n],
      ])
      expect(await rewards().owed(partner)).toMatchObject({ through: 2, units: 200n })
      expect(await rewards().audit()).toEqual([])
      expect(await kindOf({ lines: [await line(partner)] })).toBe('planned')
    })

    const some = { ...partner, from: 0, through: 1, gross: 100n, units: 100n, opening: 0n }
    it.each([101n, 99n])('of %s, which its accruals do not come to, is a fault of who plans it', async (gross) => {
      await accrue(rewards(), accrualOf(both))
      await expect(plan({ lines: [{ ...some, units: 1n, gross }] })).rejects.toThrow(RangeError)
      expect(await sumsOf(rewards(), partner)).toEqual([100n, 100n, 0n, 0n])
      expect(await dispatches().open()).toEqual([])
    })

    it.each<[string, Partial<PlannedTransaction>]>([
      ['sends more than it settles', { lines: [{ ...some, opening: 1n }] }],
      ['sends a negative amount', { lines: [{ ...some, units: -1n }] }],
      ['settles nothing', { lines: [{ ...some, through: 0 }] }],
      ['names a payee twice', { lines: [some, some] }],
      ['is a conversion with lines', { lines: [some], kind: 'conversion' }],
      ['is a refund in no lane', { kind: 'refund' }],
      ['voids what it does not refund', { voids: createPayment().tx }],
      ['voids what is no payment', { kind: 'refund', lockKey: 'a', voids: new Uint8Array(2) }],
      ['has no name', { id: '' }],
    ])('that %s is refused before anything is touched', async (_what, changes) => {
      await accrue(rewards(), accrualOf(both))
      await expect(plan(changes)).rejects.toThrow(RangeError)
      expect(await dispatches().open()).toEqual([])
    })

    it('is capped by the landed and open amounts since a time, without dropped ones', async () => {
      await accrue(rewards(), accrualOf({ ...both, 'treasury:t': 1n }))
      const first = await planned({ lines: [await line(partner, { units: 90n })] })
      const rival = [await line(developer)]
      const cap = { since: startOfTests, units: 129n }
      expect(await kindOf({ lines: rival, cap })).toBe('capped')
      expect(await sumsOf(rewards(), developer)).toEqual([40n, 40n, 0n, 0n])
      expect(await dispatches().planned(startOfTests)).toBe(90n)
      await planned({ kind: 'conversion', lockKey: 'c', cap: { ...cap, units: 1n } })
      expect(await dispatches().planned(startOfTests)).toBe(90n)
      // What is under way is sent after that time, however long ago it was planned.
      expect(await dispatches().planned(startOfTests + 1)).toBe(90n)
      expect(await kindOf({ lines: rival, cap: { ...cap, since: startOfTests + 1 } })).toBe('capped')
      await dispatches().drop(first.id, 1, '')
      const second = await planned({ lines: rival, cap })
      await landed(second)
      expect(await dispatches().planned(startOfTests)).toBe(40n)
      desk.clock.advance(1)
      const next = { since: startOfTests + 1, units: 1n }
      expect(await kindOf({ lines: [await line({ role: 'treasury', payee: 't' })], cap: next })).toBe('planned')
    })

    it('is counted by how often it was signed since a time, and not by how often before', async () => {
      const first = await signed(await planned())
      await dispatches().unsign(first.id, first.version, 'expired')
      desk.clock.advance(1_000)
      expect([await dispatches().signings(startOfTests), await dispatches().signings(startOfTests + 1)]).toEqual([
        1n,
        0n,
      ])
      await dispatches().sign(first.id, first.version + 1, bytes)
      await landed(await planned())
      await signed(await planned({ kind: 'refund', lockKey: 'refund:1' }))
      expect(await dispatches().signings(startOfTests)).toBe(3n)
      expect(await dispatches().signings(startOfTests + 1_000)).toBe(2n)
      expect(await dispatches().signings(startOfTests + 1_001)).toBe(0n)
    })

    it('is not signed beyond a budget, and nothing has changed then', async () => {
      const budget = { since: startOfTests, most: 2n }
      const sign = ({ id, version }: OutgoingTransaction, changes: Partial<SigningBudget> = {}) =>
        dispatches().sign(id, version, bytes, undefined, { ...budget, ...changes })
      const [first, second] = [await planned(), await planned()]
      expect(await sign(first, { most: 0n })).toEqual({ kind: 'spent' })
      const { version } = signedBy(await sign(first))
      const back = (await dispatches().unsign(first.id, version, 'expired')) ?? expect.fail()
      // What was signed again counts again.
      signedBy(await sign(back))
      expect(await sign(second)).toEqual({ kind: 'spent' })
      expect(await dispatches().get(second.id)).toEqual(second)
      expect(await dispatches().signings(startOfTests)).toBe(2n)
      expect(await sign({ ...second, version: 9 })).toEqual({ kind: 'passed' })
      // Others are not counted, and not held back.
      signedBy(await sign(await planned({ kind: 'refund', lockKey: 'refund:1' })))
      desk.clock.advance(1)
      signedBy(await sign(second, { since: startOfTests + 1, most: 1n }))
      expect(await sign(await planned(), { since: startOfTests + 1, most: 1n })).toEqual({ kind: 'spent' })
    })

    it('is capped by an old plan that landed recently', async () => {
      await accrue(rewards(), accrualOf(both))
      const old = await planned({ lines: [await line(partner)] })
      desk.clock.advance(1_000)
      await landed(old)
      const cap = { since: startOfTests + 1_000, units: 139n }
      expect(await dispatches().planned(cap.since)).toBe(100n)
      expect(await kindOf({ lines: [await line(developer)], cap })).toBe('capped')
      expect(await dispatches().planned(cap.since + 1)).toBe(0n)
      expect(await kindOf({ lines: [await line(developer)], cap: { ...cap, since: cap.since + 1 } })).toBe('planned')
    })
  })

  describe('a step', () => {
    it('is taken from the version that was seen, by one', async () => {
      const { id } = await planned()
      expect(await dispatches().sign(id, 2, bytes)).toEqual({ kind: 'passed' })
      expect(await dispatches().sign('nobody', 1, bytes)).toEqual({ kind: 'passed' })
      const won = await Promise.all(['a', 'b', 'c'].map((sealed) => dispatches().sign(id, 1, { ...bytes, sealed })))
      const [winner, ...others] = won.flatMap((one) => (one.kind === 'signed' ? [one.transaction] : []))
      expect(others).toEqual([])
      expect(await dispatches().get(id)).toEqual(winner)
      expect(await dispatches().unsign(id, 1, '')).toBeUndefined()
      expect(await dispatches().land(id, 1, 1)).toBeUndefined()
    })

    it('follows on the state: nothing is signed twice, and nothing is dropped that may land', async () => {
      const { id } = await planned()
      expect(await dispatches().land(id, 1, 5)).toBeUndefined()
      expect(await dispatches().unsign(id, 1, '')).toBeUndefined()
      await dispatches().sign(id, 1, bytes)
      expect(await dispatches().sign(id, 2, bytes)).toEqual({ kind: 'passed' })
      expect(await dispatches().drop(id, 2, '')).toBeUndefined()
      const back = await dispatches().unsign(id, 2, 'expired')
      expect(back).toMatchObject({ state: 'planned', version: 3, why: 'expired', attempts: 1, failures: 0 })
      expect(back?.signed).toEqual({ ...bytes, sealed: '' })
      expect(await dispatches().land(id, 3, 5)).toBeUndefined()
      const again = signedBy(await dispatches().sign(id, 3, { ...bytes, signature: 'signature-2' }))
      expect(again).toMatchObject({ attempts: 2, signed: { signature: 'signature-2', sealed: 'sealed-1' } })
      await dispatches().land(id, 4, 5)
      for (const version of [4, 5]) {
        expect(await dispatches().land(id, version, 5)).toBeUndefined()
        expect(await dispatches().unsign(id, version, '')).toBeUndefined()
        expect(await dispatches().drop(id, version, '')).toBeUndefined()
        expect(await dispatches().sign(id, version, bytes)).toEqual({ kind: 'passed' })
      }
      const other = await planned()
      await dispatches().drop(other.id, 1, '')
      expect(await dispatches().drop(other.id, 2, '')).toBeUndefined()
      expect(await dispatches().sign(other.id, 2, bytes)).toEqual({ kind: 'passed' })
    })

    it('counts how often it failed on chain', async () => {
      const { id } = await planned()
      for (const [index, hasFailed] of [true, false, true].entries()) {
        await dispatches().sign(id, 2 * index + 1, bytes)
        await dispatches().unsign(id, 2 * index + 2, 'why', hasFailed)
      }
      expect(await dispatches().get(id)).toMatchObject({ attempts: 3, failures: 2 })
    })

    it('pays once, however often it is said to have landed', async () => {
      await accrue(rewards(), accrualOf(both))
      const { id, version } = await signed(await planned({ lines: [await line(partner)] }))
      const said = await Promise.all([1, 2, 3].map(() => dispatches().land(id, version, 5)))
      expect(said.filter((one) => one !== undefined)).toHaveLength(1)
      expect(await sumsOf(rewards(), partner)).toEqual([100n, 0n, 0n, 100n])
    })
  })

  describe('a lane', () => {
    it('T157: holds one at a time', async () => {
      const first = await planned({ kind: 'conversion', lockKey: 'SOL\0' })
      expect(await kindOf({ kind: 'conversion', lockKey: 'SOL\0' })).toBe('taken')
      expect(await kindOf({ kind: 'conversion', lockKey: 'USDC' })).toBe('planned')
      expect(await kindOf({ id: first.id, kind: 'conversion', lockKey: 'other' })).toBe('taken')
      await landed(first)
      const second = await planned({ kind: 'conversion', lockKey: 'SOL\0' })
      await dispatches().drop(second.id, 1, '')
      expect((await dispatches().findByLockKey('SOL\0'))?.id).toBe(first.id)
      desk.clock.advance(1)
      const third = await planned({ kind: 'conversion', lockKey: 'SOL\0' })
      expect((await dispatches().findByLockKey('SOL\0'))?.id).toBe(third.id)
      expect(await dispatches().findByLockKey('nobody')).toBeUndefined()
      expect(await dispatches().findByLockKey('')).toBeUndefined()
      await planned()
      const asked = ['nobody', 'SOL\0', '', 'SOL\0']
      const told = await dispatches().findByLockKeys(asked)
      expect(told.map((one) => one?.id)).toEqual([undefined, third.id, undefined, third.id])
      expect(told[1]).toEqual(await dispatches().findByLockKey('SOL\0'))
      expect(await dispatches().findByLockKeys([])).toEqual([])
      await dispatches().drop(third.id, 1, '')
      expect((await dispatches().findByLockKeys(['SOL\0']))[0]?.id).toBe(first.id)
      const many = await Promise.all([1, 2, 3].map(() => kindOf({ kind: 'conversion', lockKey: 'race' })))
      expect(many.toSorted()).toEqual(['planned', 'taken', 'taken'])
    })

    it('of a refund lets one land ever', async () => {
      const first = await planned({ kind: 'refund', lockKey: 'refund:1' })
      expect(await kindOf({ kind: 'refund', lockKey: 'refund:1' })).toBe('taken')
      await dispatches().drop(first.id, 1, '')
      await landed(await planned({ kind: 'refund', lockKey: 'refund:1' }))
      expect(await kindOf({ kind: 'refund', lockKey: 'refund:1' })).toBe('taken')
      expect(await kindOf({ kind: 'conversion', lockKey: 'refund:1' })).toBe('planned')
    })
  })

  describe('the lists', () => {
    it('list open transactions, the oldest first, and all of them, the latest first', async () => {
      const names = ['a', 'b', 'c', 'd', 'e', 'f']
      const made: OutgoingTransaction[] = []
      for (const [index, id] of names.entries()) {
        if (index % 2 === 0) desk.clock.advance(1)
        const kind = index % 3 === 0 ? ('refund' as const) : ('conversion' as const)
        made.push(await planned({ id, kind, lockKey: `lane-${id}` }))
      }
      await landed(made[0] ?? expect.fail())
      await dispatches().drop('b', 1, '')
      await signed(made[2] ?? expect.fail())
      const ids = (found: readonly OutgoingTransaction[]) => found.map(({ id }) => id).join('')
      expect(ids(await dispatches().open())).toBe('cdef')
      expect(ids(await dispatches().list({ most: 10 }))).toBe('fedcba')
      expect(ids(await dispatches().list({ most: 2, after: made[4] ?? expect.fail() }))).toBe('dc')
      expect(ids(await dispatches().list({ most: 10, kind: 'refund' }))).toBe('da')
      expect(ids(await dispatches().list({ most: 10, kind: 'refund', after: made[3] ?? expect.fail() }))).toBe('a')
      expect(ids(await dispatches().list({ most: 10, state: 'planned' }))).toBe('fed')
      expect(ids(await dispatches().list({ most: 10, state: 'planned', kind: 'conversion' }))).toBe('fe')
      expect(ids(await dispatches().list({ most: 10, state: 'landed', kind: 'payout' }))).toBe('')
      expect(await dispatches().get('nobody')).toBeUndefined()
      expect(await dispatches().lines('nobody')).toEqual([])
    })

    it('show the paid and the planned amounts of a payee', async () => {
      await accrue(rewards(), accrualOf(both))
      const first = [await line(partner), await line(developer)]
      const paid = await landed(await planned({ lines: first }))
      await accrue(rewards(), accrualOf(both))
      desk.clock.advance(1)
      const second = await line(partner)
      const next = await planned({ lines: [second] })
      expect(await dispatches().linesOf(partner, 10)).toEqual([
        { ...second, transaction: next },
        { ...first[0], transaction: paid },
      ])
      expect(await dispatches().linesOf(partner, 1)).toHaveLength(1)
      expect(await dispatches().linesOf({ role: 'treasury', payee: 'x' }, 10)).toEqual([])
    })
  })
})
