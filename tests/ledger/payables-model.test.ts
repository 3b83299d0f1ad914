/**
 * Random stories of what is owed and of what goes out, told to every store, to the reference, and to a model that keeps every
 * share by itself: each is owed, reserved or paid, in one place at a time, and never paid twice.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, it, onTestFinished } from 'vitest'
import type { OutgoingTransaction, PayoutLine, PlannedTransaction } from '../../src/core/payouts/ports/outgoing.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { size } from '../harness/length.ts'
import { accrualOf, bytes, dispatchesOf, rewardsOf } from './payables-fixture.ts'
import type { Book } from './payables-model-fixture.ts'
import { createBook } from './payables-model-fixture.ts'
import type { TestClock } from './payments.ts'
import { againOf, createPayment, createTestClock, leaseMs } from './payments.ts'
import { createReferenceLedger } from './reference/ledger.ts'
import { stores } from './stores.ts'

type Step =
  | { readonly act: 'accrue'; readonly shares: readonly (readonly bigint[])[]; readonly behind: number }
  /** Remembers what somebody is owed, to plan by it now or when it has long passed. */
  | { readonly act: 'look'; readonly payee: number; readonly limit: bigint | undefined }
  | { readonly act: 'pay'; readonly payees: readonly number[]; readonly less: bigint; readonly cap: boolean }
  | { readonly act: 'sign' | 'unsign' | 'land' | 'drop'; readonly which: number; readonly behind: number }
  | { readonly act: 'park'; readonly payee: number }
  | { readonly act: 'refund' | 'take' | 'use'; readonly which: number }
  | { readonly act: 'wait' }

const payee = fc.nat({ max: 2 })
const which = fc.nat({ max: 3 })
const limit = fc.option(fc.bigInt({ min: 0n, max: 60n }), { nil: undefined })
const behind = fc.constantFrom(0, 0, 0, 0, 1)
const units = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 20n }), fc.constant(2n ** 64n - 1n))
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      act: fc.constant('accrue' as const),
      shares: fc.array(fc.array(units, { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
      behind,
    }),
  },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('look' as const), payee, limit }) },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('pay' as const),
      payees: fc.uniqueArray(payee, { minLength: 1, maxLength: 3 }),
      less: fc.bigInt({ min: 0n, max: 3n }),
      cap: fc.boolean(),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({ act: fc.constantFrom('sign', 'sign', 'unsign', 'land', 'land', 'drop'), which, behind }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('park' as const), payee }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constantFrom('refund', 'take', 'use'), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('wait' as const) }) },
)
const story = fc.array(step, { minLength: 5, maxLength: 60, size: 'max' })
/** The most that payouts of one story may plan where they are capped. */
const most = 60n

describe.each(stores)('payables in the %s ledger', (name, open) => {
  it('always equal the unpaid shares, to the last unit, and no payee is paid twice', async () => {
    const clock = createTestClock()
    const kv = await open(clock)
    onTestFinished(() => kv.clear())
    const ledgers = [kv.ledger, createReferenceLedger({ clock })]
    let turn = 0
    await fc.assert(
      fc.asyncProperty(story, async (steps) => {
        turn += 1
        clock.advance(1)
        const since = clock.now()
        // What earlier stories have left under way counts as well.
        const before = await dispatchesOf(kv.ledger).planned(since)
        const scene = { turn, clock, ledgers, book: createBook(), since, before, seen: new Map(), ids: [] }
        for (const step of steps) await play(step, scene)
        await check(scene)
      }),
      { numRuns: name === 'sqlite' ? size(12, 100) : size(5, 40) },
    )
  })
})

interface Scene {
  readonly turn: number
  readonly clock: TestClock
  readonly ledgers: readonly Ledger[]
  readonly book: Book
  readonly since: number
  readonly before: bigint
  readonly seen: Map<number, PayoutLine>
  readonly ids: string[]
}

const roles = ['partner', 'developer', 'cashback'] as const
const nameOf = (turn: number, number: number) => ({ role: roles[number % 3] ?? 'partner', payee: `${turn}-${number}` })
const paymentOf = (turn: number, number: number) =>
  createPayment({ tx: new Uint8Array(createHash('sha512').update(`${turn} ${number}`).digest()) })

/** Asks all, who must agree. */
async function ask<T>({ ledgers }: Scene, call: (ledger: Ledger) => Promise<T>): Promise<T> {
  const [answer, ...others] = await Promise.all(ledgers.map(call))
  for (const other of others) deepEqual(other, answer)
  return answer as T
}

async function play(step: Step, scene: Scene): Promise<void> {
  switch (step.act) {
    case 'accrue':
      return accrue(step, scene)
    case 'look':
      return look(step, scene)
    case 'pay':
      return pay(step, scene)
    case 'park':
      return ask(scene, (ledger) =>
        rewardsOf(ledger).park(nameOf(scene.turn, step.payee), 'frozen', scene.clock.now() + 1500),
      )
    case 'refund':
      return refund(step.which, scene)
    case 'take':
    case 'use':
      return use(step.act, step.which, scene)
    case 'wait':
      return scene.clock.advance(leaseMs)
    default:
      return move(step, scene)
  }
}

async function accrue({ shares, behind }: Extract<Step, { act: 'accrue' }>, scene: Scene): Promise<void> {
  const { last } = await ask(scene, (ledger) => rewardsOf(ledger).accruable(1))
  const accruals = shares.map((parts) => {
    const named = parts.map((part, number) => {
      const { role, payee } = nameOf(scene.turn, number)
      return [`${role}:${payee}`, part] as const
    })
    return accrualOf(Object.fromEntries(named.filter(([, part]) => part > 0n)))
  })
  const done = await ask(scene, (ledger) => rewardsOf(ledger).accrue(last - behind, accruals))
  equal(done, behind === 0)
  if (done) scene.book.share(last, accruals)
}

async function look({ payee: number, limit }: Extract<Step, { act: 'look' }>, scene: Scene): Promise<void> {
  const name = nameOf(scene.turn, number)
  const owed = await ask(scene, (ledger) => rewardsOf(ledger).owed(name, limit))
  deepEqual(owed && { through: owed.through, units: owed.units }, scene.book.owed(name, limit))
  if (!owed) return
  equal(
    owed.atRates.reduce((sum, one) => sum + one.units, 0n),
    owed.units,
  )
  const gross = { gross: owed.units, units: owed.units, opening: 0n }
  scene.seen.set(number, { ...name, from: owed.from, through: owed.through, ...gross })
}

async function pay({ payees, less, cap }: Extract<Step, { act: 'pay' }>, scene: Scene): Promise<void> {
  const lines = payees.flatMap((number): readonly PayoutLine[] => {
    const line = scene.seen.get(number)
    return line ? [{ ...line, units: line.gross > less ? line.gross - less : 0n }] : []
  })
  if (lines.length === 0) return
  const limit = cap ? { cap: { since: scene.since, units: scene.before + most } } : {}
  const planning = await plan({ kind: 'payout', lockKey: '', about: '', lines, ...limit }, scene)
  if (planning === 'capped') equal(scene.book.planned() + sum(lines.map(({ units }) => units)) > most, true)
  if (planning !== 'planned') return
  if (cap) equal(scene.book.planned() + sum(lines.map(({ units }) => units)) <= most, true)
  scene.book.reserve(scene.ids.at(-1) ?? '', lines)
}

async function plan(given: Omit<PlannedTransaction, 'id'>, scene: Scene): Promise<string> {
  const id = `${scene.turn}-${scene.ids.length}-${Math.random()}`
  const { kind } = await ask(scene, (ledger) => dispatchesOf(ledger).plan({ ...given, id }))
  if (kind === 'planned') scene.ids.push(id)
  return kind
}

/** The next step of a dispatch, or one that somebody else took before. */
async function move(step: Extract<Step, { act: 'sign' | 'unsign' | 'land' | 'drop' }>, scene: Scene): Promise<void> {
  const id = scene.ids.at(-1 - step.which)
  if (id === undefined) return
  const before = await ask(scene, (ledger) => dispatchesOf(ledger).get(id))
  const version = (before?.version ?? 0) - step.behind
  const after = await ask(scene, (ledger) => {
    const dispatches = dispatchesOf(ledger)
    if (step.act === 'sign')
      return dispatches.sign(id, version, bytes).then((one) => (one.kind === 'signed' ? one.transaction : undefined))
    if (step.act === 'land') return dispatches.land(id, version, 5)
    return dispatches[step.act](id, version, 'why')
  })
  const follows: Readonly<Record<typeof step.act, OutgoingTransaction['state']>> = {
    ...{ sign: 'planned', drop: 'planned' },
    ...{ unsign: 'signed', land: 'signed' },
  }
  equal(after !== undefined, step.behind === 0 && before?.state === follows[step.act])
  if (after?.state === 'landed') scene.book.land(id)
  if (after?.state === 'dropped') scene.book.drop(id)
}

async function refund(number: number, scene: Scene): Promise<void> {
  const { tx } = paymentOf(scene.turn, number)
  const lockKey = `refund:${scene.turn}-${number}`
  const kind = await plan({ kind: 'refund', lockKey, about: '', lines: [], voids: tx }, scene)
  equal(kind, scene.book.refund(number, kind === 'planned' ? scene.ids.at(-1) : undefined, scene.clock.now()))
}

/** Takes what was bought, and has it delivered or lets it lapse. */
async function use(act: 'take' | 'use', number: number, scene: Scene): Promise<void> {
  const payment = paymentOf(scene.turn, number)
  const take = { ...againOf(payment), payment }
  const taken = await ask(scene, (ledger) => ledger.take(take))
  if (scene.book.isRefunded(number)) equal(taken.kind, 'spent')
  if (taken.kind !== 'granted') return
  const isUsed = act === 'use'
  if (isUsed) equal(await ask(scene, (ledger) => ledger.end(taken.grant, 'delivered', 1n)), true)
  scene.book.use(number, isUsed, scene.clock.now() + leaseMs)
}

async function check(scene: Scene): Promise<void> {
  for (const number of [0, 1, 2]) {
    const name = nameOf(scene.turn, number)
    const all = await ask(scene, (ledger) => rewardsOf(ledger).payees({ role: name.role, most: 1000 }))
    const own = all.find(({ payee }) => payee === name.payee)
    deepEqual(own && [own.accrued, own.owed, own.reserved, own.paid], scene.book.sums(name))
    await ask(scene, (ledger) => rewardsOf(ledger).owed(name))
    await ask(scene, (ledger) => dispatchesOf(ledger).linesOf(name, 100))
  }
  await ask(scene, (ledger) => rewardsOf(ledger).due(1n, 1000))
  await ask(scene, (ledger) => rewardsOf(ledger).sums())
  await ask(scene, (ledger) => dispatchesOf(ledger).open())
  await ask(scene, (ledger) => dispatchesOf(ledger).list({ most: 50 }))
  equal(await ask(scene, (ledger) => dispatchesOf(ledger).planned(scene.since)), scene.before + scene.book.planned())
  for (const ledger of scene.ledgers) deepEqual(await rewardsOf(ledger).audit(), [])
}

function sum(units: readonly bigint[]): bigint {
  return units.reduce((all, one) => all + one, 0n)
}
