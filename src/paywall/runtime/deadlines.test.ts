import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createDeadlines } from './deadlines.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000 }))
afterEach(() => void vi.useRealTimers())

const clock = { now: () => Date.now(), monotonic: () => Date.now() }

function watchAll(...ends: readonly number[]) {
  const deadlines = createDeadlines(clock)
  const called: number[] = []
  const callOffs = ends.map((end) => deadlines.watch(end, () => called.push(end)))
  return { deadlines, called, callOffs }
}

it('calls each callback once at its time, in any order of registration', () => {
  const { called } = watchAll(3_000, 2_000, 2_500)
  vi.advanceTimersByTime(999)
  expect(called).toEqual([])
  vi.advanceTimersByTime(1)
  expect(called).toEqual([2_000])
  vi.advanceTimersByTime(500)
  expect(called).toEqual([2_000, 2_500])
  vi.advanceTimersByTime(100_000)
  expect(called).toEqual([2_000, 2_500, 3_000])
})

it('calls all callbacks except cancelled ones', () => {
  const { called, callOffs } = watchAll(2_000, 2_000, 2_000, 3_000)
  callOffs[0]?.()
  callOffs[0]?.()
  callOffs[2]?.()
  vi.advanceTimersByTime(5_000)
  expect(called).toEqual([2_000, 3_000])
})

it('allows additions and cancellations while callbacks run', () => {
  const deadlines = createDeadlines(clock)
  const called: string[] = []
  deadlines.watch(2_000, () => {
    called.push('a')
    callOff()
    deadlines.watch(2_500, () => called.push('c'))
  })
  const callOff = deadlines.watch(2_000, () => called.push('b'))
  deadlines.watch(9_000, () => {})
  vi.advanceTimersByTime(2_000)
  expect(called).toEqual(['a', 'c'])
})

it('sets one timer for as many as there are, and none where there are none', () => {
  vi.clearAllTimers()
  const { deadlines, callOffs } = watchAll(2_000, 2_000, 3_000)
  expect(vi.getTimerCount()).toBe(1)
  for (const callOff of callOffs) callOff()
  vi.advanceTimersByTime(2_000)
  expect(vi.getTimerCount()).toBe(0)
  const called = vi.fn()
  deadlines.watch(4_000, called)
  vi.advanceTimersByTime(1_000)
  expect(called).toHaveBeenCalledOnce()
})

it('calls back at once for a past deadline', () => {
  const { called } = watchAll(500)
  vi.advanceTimersByTime(1)
  expect(called).toEqual([500])
})

it('waits for longer than a timer can, and hears within an hour of a clock that was moved', () => {
  const month = 31 * 86_400_000
  let moved = 0
  const deadlines = createDeadlines({ ...clock, now: () => Date.now() + moved })
  const called = vi.fn()
  deadlines.watch(1_000 + month, called)
  vi.advanceTimersByTime(month - 1)
  expect(called).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(called).toHaveBeenCalledOnce()
  const other = vi.fn()
  deadlines.watch(Date.now() + month, other)
  moved = month
  vi.advanceTimersByTime(3_600_000)
  expect(other).toHaveBeenCalledOnce()
})
