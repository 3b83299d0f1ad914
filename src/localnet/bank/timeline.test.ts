import { describe, expect, it } from 'vitest'
import { createTimeline, type Gap } from './timeline.ts'

const start = 1_700_000_000_000

function timeline(gaps: readonly Gap[] = [], slotMs = 400) {
  const anchors = [
    { slot: 0, ms: start },
    { slot: 1, ms: start },
  ]
  return createTimeline({ slotMs, seed: new Uint8Array(32).fill(1), anchors, gaps })
}

describe('time', () => {
  it('opens a slot every 400 ms', () => {
    const line = timeline()
    expect(line.tipAt(start)).toBe(1)
    expect(line.tipAt(start + 399)).toBe(1)
    expect(line.tipAt(start + 400)).toBe(2)
    expect(line.timeOf(11)).toBe(start + 4_000)
  })

  it('keeps the times of the past when the clock jumps', () => {
    const line = timeline()
    const before = [1, 5, 10].map(line.timeOf)
    line.jump(10, 100, start + 1_000_000)
    expect([1, 5, 10].map(line.timeOf)).toEqual(before)
    expect(line.timeOf(110)).toBe(start + 1_000_000)
    expect(line.tipAt(start + 1_000_000)).toBe(110)
    expect(line.tipAt(start + 1_000_400)).toBe(111)
  })

  it('spreads the slots of a jump evenly, and never goes back', () => {
    const line = timeline()
    line.jump(1, 10, start)
    line.jump(11, 3, start + 7_000)
    const times = Array.from({ length: 20 }, (_, slot) => line.timeOf(slot))
    expect(times).toEqual([...times].sort((left, right) => left - right))
    expect(line.timeOf(12) - line.timeOf(11)).toBeCloseTo(7_000 / 3, -1)
  })
})

describe('blockhashes', () => {
  it('differ from slot to slot and follow from the seed', () => {
    const hashes = Array.from({ length: 50 }, (_, slot) => timeline().blockhashOf(slot))
    expect(new Set(hashes).size).toBe(50)
    expect(timeline().blockhashOf(7)).toBe(hashes[7])
  })

  it('live for 150 blocks', () => {
    const line = timeline()
    const hash = line.blockhashOf(100)
    expect(line.slotOfBlockhash(hash, 99)).toBeUndefined()
    expect(line.slotOfBlockhash(hash, 100)).toBe(100)
    expect(line.slotOfBlockhash(hash, 250)).toBe(100)
    expect(line.slotOfBlockhash(hash, 251)).toBeUndefined()
    expect(line.slotOfBlockhash(hash, 1_000_000)).toBeUndefined()
    // Known by now, and still of the future for a reader of the past.
    expect(line.slotOfBlockhash(line.blockhashOf(250), 249)).toBeUndefined()
  })

  it('are not aged by slots that were dropped, and die with their own', () => {
    const line = timeline()
    const [kept, dropped] = [line.blockhashOf(100), line.blockhashOf(105)]
    line.drop(100, 110)
    expect(line.slotOfBlockhash(kept, 260)).toBe(100)
    expect(line.slotOfBlockhash(kept, 261)).toBeUndefined()
    expect(line.slotOfBlockhash(dropped, 120)).toBeUndefined()
  })
})

describe('dropped slots', () => {
  it('leave a gap in slots and none in heights', () => {
    const line = timeline()
    expect(line.drop(7, 10)).toEqual({ first: 8, last: 10 })
    expect([7, 8, 10, 11].map(line.exists)).toEqual([true, false, false, true])
    expect(line.parentOf(11)).toBe(7)
    expect(line.heightOf(7)).toBe(7)
    expect(line.heightOf(11)).toBe(8)
    expect(line.lastUpTo(9)).toBe(7)
  })

  it('swallow gaps they contain or touch', () => {
    const line = timeline([{ first: 4, last: 5 }])
    expect(line.drop(4, 9)).toEqual({ first: 4, last: 9 })
    expect(line.heightOf(10)).toBe(4)
    expect(line.parentOf(10)).toBe(3)
  })
})
