/** Random histories, told to SQLite over two connections, to the memory ledger, and to a witness that trusts neither. */
import { deepEqual } from 'node:assert/strict'
import { join } from 'node:path'
import fc from 'fast-check'
import { it, onTestFinished } from 'vitest'
import type { Unit } from '../../src/core/payment/allowance.ts'
import type { DeliveryOutcome } from '../../src/core/payment/delivery.ts'
import type { Grant, Ledger, PaymentRecord } from '../../src/core/ports/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { size } from '../harness/length.ts'
import { createWitness } from './history-checker.ts'
import type { TestClock } from './payments.ts'
import { createPayment, createTestClock, identity } from './payments.ts'
import { createReferenceLedger } from './reference/ledger.ts'
import { createFolder } from './stores.ts'

type Step =
  | {
      readonly act: 'take'
      readonly amount: bigint
      /** The position in a file. */
      readonly at: bigint
      readonly leaseMs: number
      readonly from: 'payer' | 'stranger' | 'again'
    }
  | { readonly act: 'renew'; readonly which: number; readonly leaseMs: number }
  /** Where bytes are sold; else it is passed over. */
  | { readonly act: 'advance'; readonly which: number; readonly used: bigint; readonly more: bigint }
  | { readonly act: 'end'; readonly which: number; readonly outcome: DeliveryOutcome; readonly used: bigint }
  | { readonly act: 'wait'; readonly ms: number }
  | { readonly act: 'late' }
  | { readonly act: 'crash' }

const outcomes = fc.constantFrom<DeliveryOutcome>(
  'delivered',
  'partial',
  'partial',
  'no_body',
  'no_body',
  'no_body',
  'not_started',
)
const lease = fc.integer({ min: 1, max: 60 })
const which = fc.nat({ max: 5 })

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      act: fc.constant('take' as const),
      amount: fc.bigInt({ min: 1n, max: 4n }),
      at: fc.bigInt({ min: 0n, max: 7n }),
      leaseMs: lease,
      from: fc.constantFrom(
        'payer' as const,
        'payer' as const,
        'payer' as const,
        'stranger' as const,
        'again' as const,
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('renew' as const), which, leaseMs: lease }) },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('advance' as const),
      which,
      used: fc.bigInt({ min: 0n, max: 6n }),
      more: fc.bigInt({ min: 0n, max: 4n }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      act: fc.constant('end' as const),
      which,
      outcome: outcomes,
      used: fc.bigInt({ min: 0n, max: 5n }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ act: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 70 }) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('late' as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('crash' as const) }) },
)

/** The same use over and over, so that limits are reached. */
const burst = fc.tuple(outcomes, fc.integer({ min: 2, max: 21 })).map(([outcome, times]) =>
  Array.from({ length: times }, (): readonly Step[] => [
    { act: 'take', amount: 1n, at: 0n, leaseMs: 60, from: 'payer' },
    { act: 'end', which: 0, outcome, used: 1n },
  ]).flat(),
)
const passage = fc.oneof({ weight: 30, arbitrary: step.map((one) => [one]) }, { weight: 1, arbitrary: burst })

const history = fc.record({
  unit: fc.constantFrom<Unit>('request', 'request', 'byte', 'byte', 'file', 'file', 'second'),
  amount: fc.bigInt({ min: 1n, max: 6n }),
  /** What one is worth where bytes are sold: some free uses then cost less than is held. */
  scale: fc.constantFrom(1n, 700n),
  lifetimeMs: fc.constantFrom(150, 2500, 1_000_000),
  steps: fc.array(passage, { minLength: 5, maxLength: 40, size: 'max' }).map((passages) => passages.flat()),
})

it('tells one story over every store, which the witness accepts', async () => {
  const folder = createFolder()
  onTestFinished(folder.remove)
  const path = join(folder.path, 'ledger.db')
  const clock = createTestClock()
  const open = () => openSqliteLedger(path, { clock, identity })
  const connections = [await open(), await open()] as [Ledger, Ledger]
  const memory = createReferenceLedger({ clock })
  const crash = async () => {
    await connections[0].close()
    connections.splice(0, 2, connections[1], await open())
  }
  let turn = 0
  const ask = async <T>(call: (ledger: Ledger) => Promise<T>): Promise<T> => {
    const answer = await call(connections[turn++ % 2] as Ledger)
    deepEqual(answer, await call(memory))
    return answer
  }
  await fc.assert(
    fc.asyncProperty(history, async ({ unit, lifetimeMs, steps, ...sizes }) => {
      const scale = unit === 'byte' ? sizes.scale : 1n
      const allowance = { unit, amount: sizes.amount * scale }
      const payment = createPayment({ allowance, usableUntil: clock.now() + lifetimeMs })
      await play(payment, steps, scale, { clock, ask, crash })
    }),
    { numRuns: size(60, 1_000) },
  )
  for (const ledger of connections) await ledger.close()
})

interface Stage {
  readonly clock: TestClock
  readonly ask: <T>(call: (ledger: Ledger) => Promise<T>) => Promise<T>
  readonly crash: () => Promise<void>
}

async function play(payment: PaymentRecord, steps: readonly Step[], scale: bigint, stage: Stage): Promise<void> {
  const { clock, ask, crash } = stage
  const nodeReader = createWitness(payment)
  const grants: Grant[] = []
  for (const step of steps) {
    if (step.act === 'wait') clock.advance(step.ms)
    if (step.act === 'late') await ask((ledger) => ledger.recordLate(payment))
    if (step.act === 'crash') await crash()
    if (step.act === 'take') {
      const { leaseMs, from } = step
      const request = from === 'stranger' ? 'request-2' : payment.request
      const part = { amount: step.amount * scale, ...(payment.allowance.unit === 'file' && { from: step.at }) }
      const take = { tx: payment.tx, request, leaseMs, ...part, ...(from === 'payer' && { payment }) }
      const taken = await ask((ledger) => ledger.take(take))
      if (taken.kind === 'granted') grants.unshift(taken.grant)
      nodeReader.sawTake(take, taken, clock.now())
    }
    const grant = 'which' in step ? grants[step.which] : undefined
    if (step.act === 'renew' && grant) {
      const kept = await ask((ledger) => ledger.renew(grant, step.leaseMs))
      nodeReader.sawRenew(grant.fence, step.leaseMs, kept, clock.now())
    }
    if (step.act === 'advance' && grant && payment.allowance.unit === 'byte') {
      const [used, more] = [step.used * scale, step.more * scale]
      const held = await ask((ledger) => ledger.advance(grant, used, more))
      nodeReader.sawAdvance(grant.fence, used, more, held, clock.now())
    }
    if (step.act === 'end' && grant) {
      const used = step.used * scale
      const done = await ask((ledger) => ledger.end(grant, step.outcome, used))
      nodeReader.sawEnd(grant.fence, step.outcome, used, done)
    }
    nodeReader.sawStanding(await ask((ledger) => ledger.peek(payment.tx)), clock.now())
  }
}
