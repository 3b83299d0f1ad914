import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import type { ByteSpan } from '../http/content-range.ts'
import type { Positions } from './byte-ranges.ts'
import { findMissing, formatPositions, isWornOut, parsePositions, reach, sendAgain } from './byte-ranges.ts'

const span = (from: number, to: number): ByteSpan => ({ from: BigInt(from), to: BigInt(to) })
const sentOf = (...spans: (readonly [from: number, to: number, arrived?: '+'])[]): Positions =>
  spans.reduce<Positions>((sent, [from, to, arrived]) => sendAgain(sent, span(from, to), arrived === '+'), [])

describe('sent ranges', () => {
  it.each<[name: string, positions: Positions, text: string]>([
    ['nothing', [], ''],
    ['of nothing, nothing', sentOf([5, 5], [7, 3]), ''],
    ['from the beginning', sentOf([0, 10]), '10:1'],
    ['from the middle', sentOf([5, 10]), '5:0 10:1'],
    ['what arrived', sentOf([0, 10, '+']), '10:1+'],
    ['twice the same', sentOf([0, 10], [0, 10]), '10:2'],
    ['neighbours', sentOf([0, 5], [5, 10]), '10:1'],
    ['neighbours of which one arrived', sentOf([0, 5], [5, 10, '+']), '5:1 10:1+'],
    ['the middle of it again', sentOf([0, 10], [3, 5]), '3:1 5:2 10:1'],
    ['the end of it again, and more', sentOf([0, 10], [8, 12, '+']), '8:1 10:2+ 12:1+'],
    ['over a gap', sentOf([2, 4], [6, 8], [0, 10]), '2:1 4:2 6:1 8:2 10:1'],
    ['the gap itself', sentOf([2, 4], [6, 8], [4, 6]), '2:0 8:1'],
    ['before it', sentOf([6, 8], [0, 2]), '2:1 6:0 8:1'],
    ['again what arrived, without arriving', sentOf([0, 4, '+'], [0, 4]), '4:2+'],
    [
      'far out',
      sendAgain([], { from: 2n ** 63n - 2n, to: 2n ** 63n - 1n }, true),
      `${2n ** 63n - 2n}:0 ${2n ** 63n - 1n}:1+`,
    ],
  ])('%s', (_name, positions, text) => {
    expect(formatPositions(positions)).toBe(text)
    expect(parsePositions(text)).toEqual(positions)
  })
})

describe('how far one may send', () => {
  const three = sentOf([10, 20], [10, 20], [15, 30], [40, 50], [40, 50], [40, 50])
  it.each<[name: string, from: number, to: number, end: number, underWay?: readonly ByteSpan[]]>([
    ['what was never sent', 60, 90, 90],
    ['up to what was sent three times', 0, 90, 15],
    ['not at all from within that', 15, 90, 15],
    ['not at all from its last position', 19, 20, 19],
    ['from its end on', 20, 90, 40],
    ['no further than wanted', 20, 25, 25],
    ['up to what is under way and was sent twice', 0, 15, 10, [span(10, 11)]],
    ['up to where three are under way', 20, 40, 31, [span(25, 33), span(31, 35), span(31, 32)]],
    ['past where only two of three meet', 20, 40, 40, [span(30, 33), span(33, 35), span(34, 36)]],
    ['past one who holds nothing', 60, 90, 90, [span(70, 70), span(70, 70), span(70, 70)]],
  ])('%s', (_name, from, to, end, underWay = []) => {
    expect(reach(three, underWay, span(from, to), 3)).toBe(BigInt(end))
  })
})

describe('missing and worn-out ranges', () => {
  it.each<[name: string, positions: Positions, missing: bigint, isOver: boolean]>([
    ['nothing sent', [], 10n, false],
    ['all but the last', sentOf([0, 9, '+']), 1n, false],
    ['all but the first', sentOf([1, 10, '+']), 1n, false],
    ['all', sentOf([0, 4, '+'], [4, 10, '+']), 0n, false],
    ['all, of which nothing arrived', sentOf([0, 10]), 10n, false],
    ['all three times', sentOf([0, 10], [0, 10], [0, 10]), 10n, true],
    ['all but the last three times', sentOf([0, 9], [0, 9], [0, 10]), 10n, false],
    ['all but the first three times', sentOf([1, 10], [1, 10], [0, 10]), 10n, false],
    ['all but the middle three times', sentOf([0, 10], [0, 10], [0, 5], [6, 10, '+']), 6n, false],
    ['more than there is', sentOf([0, 20, '+'], [0, 20], [5, 20]), 0n, false],
    ['more than there is, three times', sentOf([0, 20], [0, 15], [0, 11]), 10n, true],
  ])('%s', (_name, positions, missing, isOver) => {
    expect(findMissing(positions, 10n)).toBe(missing)
    expect(isWornOut(positions, 10n, 3)).toBe(isOver)
  })
})

/** The same, position by position, without any thought. */
interface Plain {
  readonly sent: number[]
  readonly arrived: boolean[]
}

const longest = 40
const spans = fc.tuple(fc.nat(longest), fc.nat(longest)).map(([from, to]) => span(from, to))
const sends = fc.array(fc.tuple(spans, fc.boolean()), { maxLength: 14 })
const places = (size: number) => Array.from({ length: size }, (_, index) => index)
const covers = ({ from, to }: ByteSpan, place: number) => from <= place && place < to

function plainOf(sends: readonly (readonly [ByteSpan, boolean])[], size = longest): Plain {
  const plain = { sent: places(size).map(() => 0), arrived: places(size).map(() => false) }
  for (const [one, arrived] of sends) {
    for (let place = Number(one.from); place < one.to; place += 1) {
      plain.sent[place] = (plain.sent[place] ?? 0) + 1
      plain.arrived[place] ||= arrived
    }
  }
  return plain
}

function spread(positions: Positions, size = longest): Plain {
  const plain = plainOf([], size)
  let place = 0
  for (const { to, sent, arrived } of positions) {
    for (; place < to; place += 1) [plain.sent[place], plain.arrived[place]] = [sent, arrived]
  }
  return plain
}

const positionsOf = (sends: readonly (readonly [ByteSpan, boolean])[], first: Positions = []) =>
  sends.reduce<Positions>((positions, [one, arrived]) => sendAgain(positions, one, arrived), first)

describe('any sequence of sent ranges', () => {
  it('is counted position by position, in as few stretches as can be', () => {
    fc.assert(
      fc.property(sends, (sends) => {
        const positions = positionsOf(sends)
        expect(spread(positions)).toEqual(plainOf(sends))
        for (const [index, { to, sent, arrived }] of positions.entries()) {
          const next = positions[index + 1]
          if (!next) expect(sent).toBeGreaterThan(0)
          else expect([next.to > to, next.sent === sent && next.arrived === arrived]).toEqual([true, false])
        }
        expect(parsePositions(formatPositions(positions))).toEqual(positions)
      }),
      { numRuns: size(150, 3_000) },
    )
  })

  it('is missing and worn out as one would count it', () => {
    const sizes = fc.integer({ min: 1, max: longest })
    fc.assert(
      fc.property(sends, sizes, fc.constantFrom(1, 2, 3), (sends, size, most) => {
        const [positions, plain] = [positionsOf(sends), plainOf(sends)]
        const own = places(size)
        expect(findMissing(positions, BigInt(size))).toBe(BigInt(own.filter((place) => !plain.arrived[place]).length))
        expect(isWornOut(positions, BigInt(size), most)).toBe(own.every((place) => (plain.sent[place] ?? 0) >= most))
      }),
      { numRuns: size(150, 3_000) },
    )
  })

  it('may be sent on up to the first position that was sent too often', () => {
    fc.assert(
      fc.property(
        sends,
        fc.array(spans, { maxLength: 5 }),
        spans,
        fc.constantFrom(1, 3),
        (sends, live, wanted, most) => {
          const plain = plainOf(sends)
          const times = (place: number) => (plain.sent[place] ?? 0) + live.filter((one) => covers(one, place)).length
          const end = places(longest).find((place) => covers(wanted, place) && times(place) >= most)
          expect(reach(positionsOf(sends), live, wanted, most)).toBe(end === undefined ? wanted.to : BigInt(end))
        },
      ),
      { numRuns: size(150, 3_000) },
    )
  })
})

describe('more pieces than the limit', () => {
  const size = 2_400
  /** A thousand stretches: every other byte. */
  const comb = places(500).map((tooth) => [span(tooth * 2 + 1, tooth * 2 + 2), tooth % 3 === 0] as const)
  const worn = positionsOf(comb)

  it('is never counted too low, and has arrived only where it has', () => {
    const place = fc.nat(size - 3)
    const more = fc.array(
      fc.tuple(
        fc.tuple(place, fc.constantFrom(1, 2, 400)).map(([at, length]) => span(at, Math.min(at + length, size))),
        fc.boolean(),
      ),
      { minLength: 1, maxLength: 30 },
    )
    expect(worn).toHaveLength(1_000)
    fc.assert(
      fc.property(more, (more) => {
        const positions = positionsOf(more, worn)
        expect(positions.length).toBeLessThanOrEqual(1_000)
        const [kept, plain] = [spread(positions, size), plainOf([...comb, ...more], size)]
        for (const [index, sent] of plain.sent.entries()) {
          const [keptSent = 0, hasArrived, isKept] = [kept.sent[index], plain.arrived[index], kept.arrived[index]]
          if (keptSent < sent || (isKept && !hasArrived)) expect.fail(`position ${index}: ${keptSent} for ${sent}`)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('is looked at once, not once for each piece', () => {
    let looks = 0
    const watched = worn.map((stretch) => ({
      ...stretch,
      get to() {
        looks += 1
        return stretch.to
      },
    }))
    const live = places(100).map((place) => span(place, place + 1))
    expect(reach(watched, live, span(0, 5_000), 3)).toBe(5_000n)
    expect(sendAgain(watched, span(0, 1_000), false)).toHaveLength(1_000)
    expect(looks).toBeLessThan(20 * worn.length)
  })
})
