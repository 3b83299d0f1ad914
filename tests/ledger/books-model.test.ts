/** Random stories of payments, told to every store: whatever happens, the books are the sum of what the list shows. */
import { deepEqual } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, it, onTestFinished } from 'vitest'
import type { TokenCode } from '../../src/core/network.ts'
import type {
  Books,
  Capture,
  Grant,
  Journal,
  Ledger,
  PayerSum,
  PaymentRecord,
  Problem,
  Sighting,
  Sum,
} from '../../src/core/ports.ts'
import { createMemoryLedger } from '../../src/ledger/memory.ts'
import { size } from '../harness/length.ts'
import type { TestClock } from './payments.ts'
import { createPayment, createTestClock, leaseMs, startOfTests } from './payments.ts'
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
  | { readonly act: 'end'; readonly which: number; readonly consequence: 'settle' | 'count' | 'release' }
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
  { weight: 3, arbitrary: fc.record({ act: fc.constantFrom('late' as const, 'wait' as const), which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant('end' as const),
      which,
      consequence: fc.constantFrom('settle' as const, 'count' as const, 'release' as const),
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
    const shelf = await open(clock)
    onTestFinished(() => shelf.clear())
    const [own, reference] = [stageOf(shelf.ledger), stageOf(createMemoryLedger({ clock }))]
    let turn = 0
    await fc.assert(
      fc.asyncProperty(story, async (steps) => {
        turn += 1
        const grants = new Map<number, Grant>()
        for (const step of steps) await play(step, turn, clock, [own, reference], grants)
        await check(own, reference)
      }),
      { numRuns: name === 'sqlite' ? size(40, 150) : size(10, 40) },
    )
  })
})

async function play(
  step: Step,
  turn: number,
  clock: TestClock,
  stages: readonly Stage[],
  grants: Map<number, Grant>,
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
      const record = paymentOf(step.which, turn, { paidAt, finality, worth, slot: step.hour + 100 })
      const taken = await ask(({ ledger }) => ledger.take({ tx, request, payment: record, amount: 1n, leaseMs }))
      if (taken.kind === 'granted') grants.set(step.which, taken.grant)
      return
    }
    case 'late':
      return ask(({ ledger }) => ledger.recordLate(payment))
    case 'wait':
      return clock.advance(leaseMs)
    case 'end': {
      const grant = grants.get(step.which)
      if (grant) await ask(({ ledger }) => ledger.end(grant, step.consequence, 1n))
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

async function check(own: Stage, reference: Stage): Promise<void> {
  const captures = await everyCapture(own.books)
  deepEqual(captures, await everyCapture(reference.books))
  deepEqual(await own.books.audit(), [])
  const counted = captures.filter(({ status }) => status === 'confirmed')
  const from = startOfTests - 40 * hourMs - (startOfTests % hourMs)
  const to = from + 80 * hourMs
  const within = counted.filter(({ at }) => at >= from && at < to)

  deepEqual(
    await own.books.sums({}),
    groupedBy(counted, ({ token }) => ({ token })),
  )
  deepEqual(
    await own.books.sums({ from, to }),
    groupedBy(within, ({ token }) => ({ token })),
  )
  await checkPayers(own, reference, within)
  deepEqual(await everyProblem(own.books), await everyProblem(reference.books))
  deepEqual(await own.books.countProblems(1000), await reference.books.countProblems(1000))
  for (const { tx } of captures.slice(-8)) deepEqual(await own.books.history(tx), await reference.books.history(tx))
  const byEndpoint = (lines: readonly object[]) => lines.map((line) => JSON.stringify(line, plain)).toSorted()
  const endpointOf = ({ endpoint, token }: Capture) => ({ endpoint, token })
  deepEqual(byEndpoint(await own.books.endpoints({}, 9)), byEndpoint(groupedBy(counted, endpointOf)))
  deepEqual(byEndpoint(await own.books.endpoints({ from, to }, 9)), byEndpoint(groupedBy(within, endpointOf)))
  for (const [stepName, span] of [
    ['hour', hourMs],
    ['day', dayMs],
  ] as const) {
    const pointOf = ({ at, token }: Capture) => ({ at: at - (at % span), token })
    deepEqual(await own.books.series({ from, to, step: stepName }), groupedBy(within, pointOf))
    const onlyA = within.filter(({ endpoint }) => endpoint === '/a')
    deepEqual(await own.books.series({ from, to, step: stepName, endpoint: '/a' }), groupedBy(onlyA, pointOf))
  }
}

/** Those of whole days, whose sums are those of the list. */
async function checkPayers(own: Stage, reference: Stage, within: readonly Capture[]): Promise<void> {
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
      within.reduce((sum, { units }) => sum + units, 0n),
    )
    deepEqual([...new Set(within.map(({ payer }) => payer))].toSorted(), payers.map(({ payer }) => payer).toSorted())
  }
}

/** Page by page. */
async function everyProblem(books: Books) {
  const found: Problem[] = []
  for (;;) {
    const after = found.at(-1)?.capture
    const page = await books.problems({ most: 500, ...(after && { after }) })
    found.push(...page)
    if (page.length === 0) return found
  }
}

async function everyCapture(books: Books): Promise<readonly Capture[]> {
  return books.captures({ order: 'oldest', most: 100_000 })
}

const nothing = { payments: 0, received: 0n, worth: 0n, unvalued: 0 }

/** In the order of time and token, as the books have it. */
function groupedBy<Key extends { readonly token: TokenCode; readonly at?: number }>(
  captures: readonly Capture[],
  keyOf: (capture: Capture) => Key,
) {
  const groups = new Map<string, Key & Omit<Sum, 'token'>>()
  for (const capture of captures) {
    const key = keyOf(capture)
    const name = JSON.stringify(key)
    const { payments, received, worth, unvalued } = groups.get(name) ?? nothing
    groups.set(name, {
      ...key,
      payments: payments + 1,
      received: received + capture.units,
      worth: worth + (capture.worth ?? 0n),
      unvalued: unvalued + (capture.worth === undefined ? 1 : 0),
    })
  }
  const inOrder = [...groups.values()]
  return inOrder.sort((one, other) => (one.at ?? 0) - (other.at ?? 0) || (one.token < other.token ? -1 : 1))
}

function plain(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  const isObject = key === '' && typeof value === 'object' && value !== null
  return isObject ? Object.fromEntries(Object.entries(value).toSorted()) : value
}
