import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createReplacements } from './replacements.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const ended = { isServing: true, startedAt: performance.now(), failure: undefined, worker: { process: { pid: 7 } } }

function open(running = 1) {
  const [start, error] = [vi.fn(), vi.fn()]
  const log = { info: () => {}, warn: () => {}, error }
  const all = new Set(Array.from({ length: running }, (_, index) => index))
  return { start, error, replacements: createReplacements({ all, count: 2, countServing: () => 1, log, start }) }
}

it('starts a process for one that ended, after a pause that grows with every failure', () => {
  const { start, error, replacements } = open()
  for (const pauseMs of [100, 200, 400]) {
    replacements.replace(ended, 'SIGKILL')
    expect(error).toHaveBeenLastCalledWith('process.ended', {
      ...{ pid: 7, why: 'the process ended with SIGKILL', againInMs: pauseMs },
    })
    vi.advanceTimersByTime(pauseMs - 1)
    expect(start).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(start).toHaveBeenCalledOnce()
    start.mockClear()
  }
})

it('starts no process after a stop, and leaves no pause that would delay the end of the command', () => {
  const { start, replacements } = open()
  replacements.replace(ended, 'SIGKILL')
  replacements.replace(ended, 'SIGKILL')
  expect(vi.getTimerCount()).toBe(2)
  replacements.stop()
  expect(vi.getTimerCount()).toBe(0)
  vi.runAllTimers()
  expect(start).not.toHaveBeenCalled()
})

it('starts no process beyond the wanted number', () => {
  const { start, replacements } = open(2)
  replacements.replace(ended, 'SIGKILL')
  vi.runAllTimers()
  expect(start).not.toHaveBeenCalled()
})
