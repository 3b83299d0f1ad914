/** Random stories of payments, told to every store: whatever happens, the books are the sum of what the list shows. */
import { deepEqual } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, it, onTestFinished } from 'vitest'
import type { TokenCode } from '../../src/core/money/tokens.ts'
import type { PaymentListItem } from '../../src/core/payment/history.ts'
import type { Journal, Sighting } from '../../src/core/ports/journal.ts'
import type { Grant, Ledger, PaymentRecord } from '../../src/core/ports/ledger.ts'
import type { Books, PayerSum, Problem, Sum } from '../../src/core/ports/reports.ts'
import { size } from '../harness/length.ts'
import { bytes, dispatchesOf } from './payables-fixture.ts'
import type { TestClock } from './payments.ts'
import { createPayment, createTestClock, leaseMs, startOfTests } from './payments.ts'
import { createReferenceLedger } from './reference/ledger.ts'
import { stores } from './stores.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const endpoints = ['/a', '/b', '']
const tokens: readonly TokenCode[] = ['NATIVE', 'SOL', 'USDC']

type Step =
  | {
      readonly act: 'register'
      readonly which: number
      readonly final: boolean
      readonly hour: number
      readonly worth: boolean
    }
  | { readonly act: 'late' | 'wait'; readonly which: number }
  | { readonly act: 'refund'; readonly which: number; readonly whole: boolean }
  | { readonly act: 'end'; readonly which: number; readonly outcome: 'delivered' | 'partial' | 'not_started' }
  | { readonly act: 'conclude'; readonly which: number; readonly finality: 'finalized' | 'reverted' }
  | { readonly act: 'sight'; readonly which: number; readonly proven: boolean; readonly ours: boolean }

const which = fc.nat({ max: 4 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('register' as const),
      which,
      final: fc.boolean(),
      hour: fc.integer({ min: -30, max: 30 }),
      worth: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('refund' as const), which, whole: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constantFrom('late' as const, 'wait' as const), which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant('end' as const),
      which,
      outcome: fc.constantFrom('delivered' as const, 'partial' as const, 'not_started' as const),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      act: fc.constant('conclude' as const),
      which,
      finality: fc.constantFrom('finalized' as const, 'reverted' as const, 'reverted' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constant('sight' as const), which, proven: fc.boolean(), ours: fc.boolean() }),
  },
)
const story = fc.array(step, { minLength: 3, maxLength: 30, size: 'max' })

interface Stage {
  readonly ledger: Ledger
  readonly books: Books
  readonly journal: Journal
}

function stageOf(ledger: Ledger): Stage {
  if (!ledger.books || !ledger.journal) throw new Error('this ledger keeps no books')
  return { ledger, books: ledger.books, journal: ledger.journal }
}

/** The same payment each time it is named, but for what the chain may say differently of it when it lands again. */
function paymentOf(number: number, turn: number, changes: Partial<PaymentRecord>): PaymentRecord {
  return createPayment({
    tx: new Uint8Array(createHash('sha512').update(`${turn} ${number}`).digest()),
    endpoint: endpoints[number % 3] ?? '',
    payer: `payer-${(number + turn) % 7}`,
    request: `request-${turn}-${number >> 1}`,
    required: 10n ** BigInt(4 * number),
    token: tokens[number % 3] ?? 'USDC',
    received: 10n ** BigInt(4 * number) + BigInt(number),
    usableUntil: Number.MAX_SAFE_INTEGER,
    ...changes,
  })
}

function sightingOf({ tx, request, recipient, payer, token, received, paidAt, endpoint }: PaymentRecord): Sighting {
  const facts = { tx, request, recipient, payer, token, received, paidAt, endpoint }
  const promised = { required: received, payableUntil: startOfTests, claimableUntil: startOfTests + 2000 }
  return { ...facts, ...promised, slot: 1 }
}

describe.each(stores)('the books of the %s ledger', (name, open) => {
  it('are at any time the sum of its captures, and those of the reference', async () => {
    const clock = createTestClock()
    const kv = await open(clock)
    onTestFinished(() => kv.clear())
    const [own, reference] = [stageOf(kv.ledger), stageOf(createReferenceLedger({ clock }))]
    let turn = 0
    const refunds: Refunded[] = []
    await fc.assert(
      fc.asyncProperty(story, async (steps) => {
        turn += 1
        const grants = new Map<number, Grant>()
        for (const step of steps) await play(step, turn, clock, [own, reference], grants, refunds)
        await check(own, reference, refunds)
      }),
      { numRuns: name === 'sqlite' ? size(8, 80) : size(4, 20) },
    )
  })
})

async function play(
  step: Step,
  turn: number,
  clock: TestClock,
  stages: readonly Stage[],
  grants: Map<number, Grant>,
  refunds: Refunded[],
): Promise<void> {
  const payment = paymentOf(step.which, turn, {})
  const { tx, request } = payment
  const ask = async <T>(call: (stage: Stage) => Promise<T>): Promise<T> => {
    const [answer, ...others] = await Promise.all(stages.map(call))
    for (const other of others) deepEqual(other, answer)
    return answer as T
  }
  switch (step.act) {
    case 'register': {
      const paidAt = startOfTests + step.hour * hourMs
      const finality = step.final ? 'finalized' : 'confirmed'
      const worth = step.worth ? 10n ** 20n + BigInt(step.hour + 30) : undefined
      const received = payment.received + BigInt(Math.abs(step.hour) % 3)
      const record = paymentOf(step.which, turn, { paidAt, finality, worth, received, slot: step.hour + 100 })
      const taken = await ask(({ ledger }) => ledger.take({ tx, request, payment: record, amount: 1n, leaseMs }))
      if (taken.kind === 'granted') grants.set(step.which, taken.grant)
      return
    }
    case 'refund': {
      const capture = await ask(({ books }) => books.findPayment(tx))
      const isGood = capture?.state === 'finalized'
      // The rule of refunds: a payment that can still be reverted is not refunded, and a surplus only if it was registered.
      if (capture?.state === 'confirmed' || capture?.state === 'reverted' || (!step.whole && !isGood)) return
      const units = step.whole ? payment.received : BigInt(step.which + 1)
      const id = `${turn} ${step.which} ${refunds.length}`
      const plan = { id, kind: 'refund', lockKey: `refund ${turn} ${step.which}`, about: '', lines: [] } as const
      const planning = await ask(({ ledger }) =>
        dispatchesOf(ledger).plan({ ...plan, refunds: { tx, units }, ...(step.whole && { voids: tx }) }),
      )
      if (planning.kind !== 'planned') return
      clock.advance(7 * hourMs)
      await ask(({ ledger }) => dispatchesOf(ledger).sign(id, 1, bytes))
      await ask(({ ledger }) => dispatchesOf(ledger).land(id, 2, 1))
      if (isGood) refunds.push({ at: clock.now(), tx, units })
      return
    }
    case 'late':
      return ask(({ ledger }) => ledger.recordLate(payment))
    case 'wait':
      return clock.advance(leaseMs)
    case 'end': {
      const grant = grants.get(step.which)
      if (grant) await ask(({ ledger }) => ledger.end(grant, step.outcome, 1n))
      return
    }
    case 'conclude':
      await ask(({ journal }) => journal.conclude([{ tx, finality: step.finality }]))
      return
    case 'sight': {
      const sighting = { ...sightingOf(payment), ...(!step.proven && { slot: 0 }), ...(!step.ours && { request: '' }) }
      await ask(({ journal }) => journal.sight([sighting]))
    }
  }
}

/** A refund of a payment that was in the books. */
interface Refunded {
  readonly at: number
  readonly tx: Uint8Array
  readonly units: bigint
}

async function check(own: Stage, reference: Stage, refunds: readonly Refunded[]): Promise<void> {
  const captures = await everyCapture(own.books)
  deepEqual(captures, await everyCapture(reference.books))
  deepEqual(await own.books.audit(), [])
  const byTx = new Map(captures.map((capture) => [keyOf(capture.tx), capture]))
  const counted: readonly Counted[] = [
    ...captures.filter(({ status }) => status === 'confirmed'),
    ...refunds.map(({ at, tx, units }) => {
      const capture = byTx.get(keyOf(tx))
      if (!capture) throw new Error('what was refunded is not listed')
      return { ...capture, at, refunded: units }
    }),
  ]
  const from = startOfTests - 40 * hourMs - (startOfTests % hourMs)
  const to = from + 80_000 * hourMs
  const within = counted.filter(({ at }) => at >= from && at < to)

  deepEqual(
    await own.books.sums({}),
    groupedBy(counted, ({ token }) => ({ token })),
  )
  deepEqual(
    await own.books.sums({ from, to }),
    groupedBy(within, ({ token }) => ({ token })),
  )
  const paid = counted.filter(({ refunded }) => refunded === undefined)
  await checkPayers(own, reference, paid)
  deepEqual(await everyProblem(own.books), await everyProblem(reference.books))
  deepEqual(await own.books.countProblems(1000), await reference.books.countProblems(1000))
  for (const { tx } of captures.slice(-8)) deepEqual(await own.books.history(tx), await reference.books.history(tx))
  const byEndpoint = (lines: readonly object[]) => lines.map((line) => JSON.stringify(line, plain)).toSorted()
  const endpointOf = ({ endpoint, token }: Counted) => ({ endpoint, token })
  deepEqual(byEndpoint(await own.books.endpoints({}, 9)), byEndpoint(groupedBy(counted, endpointOf)))
  deepEqual(byEndpoint(await own.books.endpoints({ from, to }, 9)), byEndpoint(groupedBy(within, endpointOf)))
  for (const [stepName, span] of [
    ['hour', hourMs],
    ['day', dayMs],
  ] as const) {
    const pointOf = ({ at, token }: Counted) => ({ at: at - (at % span), token })
    deepEqual(await own.books.series({ from, to, step: stepName }), groupedBy(within, pointOf))
    const onlyA = within.filter(({ endpoint }) => endpoint === '/a')
    deepEqual(await own.books.series({ from, to, step: stepName, endpoint: '/a' }), groupedBy(onlyA, pointOf))
  }
}

/** A payment; or what was sent back of it, and when. */
type Counted = PaymentListItem & { readonly refunded?: bigint }

const keyOf = (tx: Uint8Array): string => Buffer.from(tx).toString('hex')

/** Those of whole days, whose sums are those of the list. */
async function checkPayers(own: Stage, reference: Stage, paid: readonly PaymentListItem[]): Promise<void> {
  const from = startOfTests - (startOfTests % dayMs) - 2 * dayMs
  const period = { from, to: from + 5 * dayMs, most: 3 }
  const pages = async ({ books }: Stage, order: 'revenue' | 'latest') => {
    const found: PayerSum[] = []
    for (let page = await books.payers({ ...period, order }); ; ) {
      found.push(...page.payers)
      if (!page.next) return found
      page = await books.payers({ ...period, order, after: page.next })
    }
  }
  for (const order of ['revenue', 'latest'] as const) {
    const payers = await pages(own, order)
    deepEqual(payers, await pages(reference, order))
    const all = payers.flatMap(({ sums }) => sums)
    deepEqual(
      all.reduce((sum, { received }) => sum + received, 0n),
      paid.reduce((sum, { units }) => sum + units, 0n),
    )
    deepEqual([...new Set(paid.map(({ payer }) => payer))].toSorted(), payers.map(({ payer }) => payer).toSorted())
  }
}

/** Page by page. */
async function everyProblem(books: Books) {
  const found: Problem[] = []
  for (;;) {
    const after = found.at(-1)?.payment
    const page = await books.problems({ most: 500, ...(after && { after }) })
    found.push(...page)
    if (page.length === 0) return found
  }
}

async function everyCapture(books: Books): Promise<readonly PaymentListItem[]> {
  return books.listPayments({ order: 'oldest', most: 100_000 })
}

const nothing = { payments: 0, received: 0n, worth: 0n, unvalued: 0, refunded: 0n, refundedWorth: 0n }

/** In the order of time and token, as the books have it. */
function groupedBy<Key extends { readonly token: TokenCode; readonly at?: number }>(
  counted: readonly Counted[],
  keyOf: (one: Counted) => Key,
) {
  const groups = new Map<string, Key & Omit<Sum, 'token'>>()
  for (const one of counted) {
    const key = keyOf(one)
    const name = JSON.stringify(key)
    const sums = groups.get(name) ?? nothing
    const { refunded } = one
    groups.set(
      name,
      refunded === undefined
        ? {
            ...{ ...key, ...sums },
            payments: sums.payments + 1,
            received: sums.received + one.units,
            worth: sums.worth + (one.worth ?? 0n),
            unvalued: sums.unvalued + (one.worth === undefined ? 1 : 0),
          }
        : {
            ...{ ...key, ...sums },
            refunded: sums.refunded + refunded,
            refundedWorth: sums.refundedWorth + ((one.worth ?? 0n) * refunded) / one.units,
          },
    )
  }
  const inOrder = [...groups.values()]
  return inOrder.sort((one, other) => (one.at ?? 0) - (other.at ?? 0) || (one.token < other.token ? -1 : 1))
}

function plain(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  const isObject = key === '' && typeof value === 'object' && value !== null
  return isObject ? Object.fromEntries(Object.entries(value).toSorted()) : value
}
