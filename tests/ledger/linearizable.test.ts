/** The judge of histories is judged itself: by histories whose verdict is plain, and by trying every order there is. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../harness/length.ts'
import { judge } from './linearizable.ts'
import type { Asked, Call, Register, Terms, Told } from './register.ts'
import { after, untouched } from './register.ts'

const once: Terms = { unit: 'request', amount: 1 }
const twice: Terms = { unit: 'request', amount: 2 }
const both: Terms = { unit: 'byte', amount: 2 }
const bytes: Terms = { unit: 'byte', amount: 9 }
const lease = 600_000

/** A call, in milliseconds. */
const call = (from: number, to: number, asked: Asked, told: Told): Call => ({
  from: from * 1e6,
  to: to * 1e6,
  asked,
  told,
})
const take = (from: number, to: number, told: Told, changes: Partial<Extract<Asked, { act: 'take' }>> = {}): Call =>
  call(from, to, { act: 'take', request: 'one', registers: true, amount: 1, leaseMs: lease, ...changes }, told)
const peek = (from: number, to: number, told: Told): Call => call(from, to, { act: 'peek' }, told)
const end = (
  from: number,
  to: number,
  fence: number,
  held = true,
  outcome: Extract<Asked, { act: 'end' }>['outcome'] = 'delivered',
): Call => call(from, to, { act: 'end', fence, outcome, used: 1 }, { kind: 'done', held })
const renew = (from: number, to: number, fence: number, held: boolean, leaseMs = lease): Call =>
  call(from, to, { act: 'renew', fence, leaseMs }, { kind: 'done', held })
const advance = (from: number, to: number, fence: number, used: number, more: number, amount?: number): Call => {
  const told: Told = amount === undefined ? { kind: 'done', held: false } : { kind: 'advanced', amount }
  return call(from, to, { act: 'advance', fence, used, more }, told)
}
const four = { amount: 4 }
const granted = (fence: number, remaining = 0, amount = 1): Told => ({ kind: 'granted', fence, amount, remaining })
const shown = (state: 'open' | 'busy' | 'spent', remaining = state === 'open' ? 1 : 0): Told => ({
  kind: 'standing',
  request: 'one',
  state,
  remaining,
})
const [busy, spent, foreign, unknown] = [
  { kind: 'busy' },
  { kind: 'spent' },
  { kind: 'foreign' },
  { kind: 'unknown' },
] as const

const failing: { readonly [Act in Asked['act']]: Extract<Asked, { act: Act }> } = {
  take: { act: 'take', request: 'one', registers: true, amount: 1, leaseMs: lease },
  peek: { act: 'peek' },
  renew: { act: 'renew', fence: 1, leaseMs: lease },
  advance: { act: 'advance', fence: 1, used: 0, more: 1 },
  report: { act: 'report', fence: 1, number: 1, delivered: 0, partial: 0, noBody: 0, keeps: 0, fills: false },
  end: { act: 'end', fence: 1, outcome: 'delivered', used: 1 },
}

const kindOf = (history: readonly Call[], terms = once) => judge(terms, history).kind

describe('accepts', () => {
  it.each<[string, readonly Call[], Terms?]>([
    ['nothing', []],
    ['one after another', [take(0, 1, granted(1)), take(2, 3, busy), end(4, 5, 1), take(6, 7, spent)]],
    ['a refusal that began before the grant it met', [take(0, 9, busy), take(1, 2, granted(1))]],
    [
      'a look that overlaps the end of a use, before it or after',
      [take(0, 1, granted(1)), end(2, 9, 1), peek(3, 4, shown('busy')), peek(5, 6, shown('spent', 0))],
    ],
    [
      'a use between the release of one that ended later and a grant that began earlier',
      [take(0, 1, granted(1)), take(2, 20, granted(2)), end(3, 19, 1, true, 'not_started'), take(4, 18, busy)],
    ],
    ['two grants of an allowance of two', [take(0, 5, granted(2)), take(1, 4, granted(1, 1))], twice],
    ['a rival who came first', [take(0, 9, granted(1), { request: 'two' }), take(1, 8, foreign)]],
    ['a look at what is not there yet', [peek(0, 9, unknown), take(1, 2, granted(1))]],
    ['a grant after a lease that may have lapsed', [take(0, 2, granted(1), { leaseMs: 5 }), take(4, 6, granted(2))]],
    ['a lease that has not lapsed yet', [take(0, 2, granted(1), { leaseMs: 5 }), take(4, 6, busy)]],
    [
      'the end of a lease that has lapsed, as long as nobody took it',
      [take(0, 1, granted(1), { leaseMs: 5 }), peek(9, 10, shown('open')), end(11, 12, 1), take(13, 14, spent)],
    ],
    [
      'a renewal of one that has lapsed, which holds it again',
      [take(0, 1, granted(1), { leaseMs: 5 }), renew(9, 10, 1, true), take(11, 12, busy)],
    ],
    [
      'bytes that are used on the way, and said again',
      [
        take(0, 1, granted(1, 5, 4), four),
        advance(2, 3, 1, 4, 3, 3),
        advance(4, 5, 1, 4, 3, 3),
        peek(6, 7, shown('open', 2)),
        advance(8, 9, 1, 6, 9, 3),
        peek(10, 11, shown('busy')),
      ],
      bytes,
    ],
    [
      'two that go on at once, in the one order that fits',
      [
        take(0, 1, granted(1, 5, 4), four),
        take(2, 3, granted(2, 1, 4), four),
        advance(4, 9, 1, 4, 4, 0),
        advance(5, 8, 2, 1, 9, 4),
      ],
      bytes,
    ],
    [
      'one that goes on twice at once, of which the second might have changed nothing',
      [take(0, 1, granted(1, 8)), advance(2, 9, 1, 0, 1, 1), advance(3, 8, 1, 1, 2, 2), peek(10, 11, shown('open', 7))],
      bytes,
    ],
    [
      'one that goes on with what another has let lapse',
      [
        take(0, 1, granted(1, 5, 4), { amount: 4, leaseMs: 5 }),
        take(2, 3, granted(2, 1, 4), four),
        advance(9, 10, 2, 4, 9, 5),
        end(11, 12, 1, false),
      ],
      bytes,
    ],
    [
      'a renewal that follows a look, though it began before it',
      [
        take(0, 2, granted(1), { leaseMs: 5 }),
        renew(2.5, 5, 1, true, 4),
        peek(3, 6, shown('open')),
        take(6.5, 6.9, busy),
      ],
    ],
  ])('%s', (_name, history, terms) => expect(kindOf(history, terms)).toBe('linearizable'))
})

describe('rejects', () => {
  it.each<[string, readonly Call[], Terms?]>([
    ['two grants of one use, at once', [take(0, 9, granted(1)), take(1, 8, granted(2))]],
    ['two grants of one use under one fence', [take(0, 9, granted(1)), take(1, 8, granted(1))]],
    ['two grants of one use, one after another', [take(0, 1, granted(1)), take(2, 3, granted(2))]],
    [
      'three grants of an allowance of two',
      [take(0, 9, granted(1, 1)), take(1, 8, granted(2)), take(2, 7, granted(3))],
      twice,
    ],
    ['a grant after a settle', [take(0, 1, granted(1)), end(2, 3, 1), take(4, 5, granted(2))]],
    ['a look that finds open what was settled', [take(0, 1, granted(1)), end(2, 3, 1), peek(4, 5, shown('open'))]],
    ['a look that finds nothing where a grant was given', [take(0, 1, granted(1)), peek(2, 3, unknown)]],
    [
      'a look that shows what was, after one that showed what is',
      [take(0, 1, granted(1)), end(2, 9, 1), peek(3, 4, shown('spent', 0)), peek(5, 6, shown('busy'))],
    ],
    ['a look that shows more than is left', [take(0, 1, granted(1, 1)), peek(2, 3, shown('open', 2))], twice],
    ['a grant of more than is left', [take(0, 1, granted(1, 1)), take(2, 3, granted(2, 0, 2), { amount: 2 })], twice],
    ['a refusal of what is free', [take(0, 1, granted(1)), end(2, 3, 1, true, 'not_started'), take(4, 5, busy)]],
    ['a refusal for ever of what is only busy', [take(0, 1, granted(1)), take(2, 3, spent)]],
    ['a use that ends twice', [take(0, 1, granted(1)), end(2, 9, 1), end(3, 8, 1)]],
    ['an end under a fence that was never given', [take(0, 1, granted(1)), end(2, 3, 2)]],
    [
      'a fence that is given twice',
      [take(0, 1, granted(1)), end(2, 3, 1, true, 'not_started'), take(4, 5, granted(1))],
    ],
    ['an end that is not known of while the lease is held', [take(0, 1, granted(1)), end(2, 3, 1, false)]],
    ['a stranger who is served', [take(0, 1, granted(1, 1)), take(2, 3, granted(2), { request: 'two' })], twice],
    ['two requests of which each came first', [take(0, 9, foreign), take(1, 8, foreign, { request: 'two' })]],
    ['a lease that lapses too early', [take(0, 2, granted(1), { leaseMs: 5 }), take(3, 4, granted(2))]],
    ['a lease that never lapses', [take(0, 2, granted(1), { leaseMs: 5 }), take(8, 9, busy)]],
    [
      'a lease that is alive again by itself',
      [take(0, 2, granted(1), { leaseMs: 20 }), peek(20, 21, shown('open')), peek(21.5, 22.9, shown('busy'))],
    ],
    [
      'a lease that is alive and lapsed in the same millisecond',
      [take(0, 2, granted(1), { leaseMs: 5 }), peek(5.1, 5.8, shown('busy')), peek(5.2, 5.9, shown('open'))],
    ],
    [
      'bytes that are counted again when they are said again',
      [
        take(0, 1, granted(1, 5, 4), four),
        advance(2, 3, 1, 4, 1, 1),
        advance(4, 5, 1, 4, 1, 1),
        peek(6, 7, shown('open', 3)),
      ],
      bytes,
    ],
    [
      'bytes that are held by two',
      [take(0, 1, granted(1, 5, 4), four), take(2, 3, granted(2, 1, 4), four), advance(4, 5, 1, 4, 9, 5)],
      bytes,
    ],
    ['bytes that go on without a lease', [take(0, 1, granted(1, 5, 4), four), advance(2, 3, 2, 4, 9, 5)], bytes],
    ['bytes that do not go on with one', [take(0, 1, granted(1, 5, 4), four), advance(2, 3, 1, 4, 9)], bytes],
    [
      'bytes of which one has lapsed and gone on, and the other has ended it',
      [
        take(0, 1, granted(1, 5, 4), { amount: 4, leaseMs: 5 }),
        take(2, 3, granted(2, 1, 4), four),
        advance(9, 10, 2, 4, 9, 5),
        end(11, 12, 1),
      ],
      bytes,
    ],
    [
      'the end of a use that another has taken over',
      [take(0, 1, granted(1), { leaseMs: 5 }), take(9, 10, granted(2)), end(11, 12, 1)],
    ],
    ...(['take', 'peek', 'renew', 'advance', 'report', 'end'] as const).map((act): [string, readonly Call[]] => [
      `an error of "${act}"`,
      [take(0, 1, granted(1)), call(2, 3, failing[act], { kind: 'thrown', error: 'RangeError' })],
    ]),
  ])('%s', (_name, history, terms) => expect(kindOf(history, terms)).toBe('anomaly'))
})

it('shows how far it came and where it stopped', () => {
  const [first, second] = [take(0, 1, granted(1)), take(2, 3, granted(2))]
  expect(judge(once, [second, first])).toEqual({ kind: 'anomaly', ordered: [first], stuck: [second] })
})

it('judges many calls at once that tell the same', () => {
  const crowd = Array.from({ length: 200 }, (_, index) => take(index / 1000, 9, busy))
  expect(kindOf([...crowd, take(1, 8, granted(1))])).toBe('linearizable')
  expect(kindOf([...crowd, take(1, 8, granted(1)), end(8.5, 8.9, 1, true, 'no_body'), take(10, 11, busy)])).toBe(
    'anomaly',
  )
})

it('judges many changes at once that fit in no order', () => {
  const uses = Array.from({ length: 12 }, (_, index) => index + 1)
  const takes = uses.map((fence) => take(fence, fence + 0.5, granted(fence, 12 - fence)))
  const ends = uses.map((fence) => end(20, 30, fence))
  const terms: Terms = { unit: 'request', amount: 12 }
  expect(kindOf([...takes, ...ends, peek(40, 41, shown('spent', 0))], terms)).toBe('linearizable')
  expect(kindOf([...takes, ...ends, peek(40, 41, shown('busy'))], terms)).toBe('anomaly')
})

describe('any short history', () => {
  const told: fc.Arbitrary<readonly [Asked, Told]> = fc.oneof(
    fc.tuple(
      fc.record({
        act: fc.constant('take' as const),
        request: fc.constantFrom('one', 'one', 'one', 'two'),
        registers: fc.boolean(),
        amount: fc.constantFrom(1, 2),
        leaseMs: fc.constantFrom(4, lease),
      }),
      fc.oneof(
        fc.constantFrom<Told>(busy, spent, foreign, unknown),
        fc.constantFrom(granted(1, 1), granted(1), granted(2), granted(2, 0, 2), granted(3)),
      ),
    ),
    fc.tuple(
      fc.constant({ act: 'peek' as const }),
      fc.constantFrom<Told>(unknown, shown('open'), shown('open', 2), shown('busy'), shown('spent', 0)),
    ),
    fc.tuple(
      fc.record({
        act: fc.constant('advance' as const),
        fence: fc.constantFrom(1, 2),
        used: fc.constantFrom(0, 1),
        more: fc.constantFrom(0, 1),
      }),
      fc.constantFrom<Told>(
        { kind: 'done', held: false },
        { kind: 'advanced', amount: 0 },
        { kind: 'advanced', amount: 1 },
      ),
    ),
    fc.tuple(
      fc.record({
        act: fc.constant('end' as const),
        fence: fc.constantFrom(1, 2),
        outcome: fc.constantFrom('delivered' as const, 'not_started' as const, 'partial' as const),
        used: fc.constantFrom(0, 1),
      }),
      fc.boolean().map((held): Told => ({ kind: 'done', held })),
    ),
    fc.tuple(
      fc.record({
        act: fc.constant('renew' as const),
        fence: fc.constantFrom(1, 2),
        leaseMs: fc.constantFrom(4, lease),
      }),
      fc.boolean().map((held): Told => ({ kind: 'done', held })),
    ),
  )
  const calls = fc.array(
    fc
      .tuple(told, fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 12 }))
      .map(([[asked, answer], from, lasts]) => call(from, from + lasts, asked, answer)),
    { maxLength: 5 },
  )

  /** Every order that time allows, without any cleverness. */
  const isInOrder = (terms: Terms, left: readonly Call[], register: Register): boolean =>
    left.length === 0 ||
    left.some((next) => {
      const others = left.filter((other) => other !== next)
      if (others.some((other) => other.to < next.from)) return false
      return after(terms, register, next).some((result) => isInOrder(terms, others, result))
    })

  it('gets the verdict that trying every order gives', () => {
    const seen = { linearizable: 0, anomaly: 0 }
    fc.assert(
      fc.property(calls, fc.constantFrom(once, twice, both), (history, terms) => {
        const { kind } = judge(terms, history)
        seen[kind] += 1
        expect(kind).toBe(isInOrder(terms, history, untouched) ? 'linearizable' : 'anomaly')
      }),
      { numRuns: size(2_000, 20_000) },
    )
    expect(Math.min(seen.linearizable, seen.anomaly)).toBeGreaterThan(500)
  })
})
