import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { now, takeTime } from './clock.ts'

const here = Date.parse('2026-01-31T12:00:00.000Z')
const dayMs = 86_400_000
const dateAt = (ms: number) => new Date(ms).toUTCString()

describe('the time', () => {
  beforeAll(() => {
    vi.useFakeTimers({ now: here })
  })
  afterAll(() => {
    vi.useRealTimers()
  })

  it.each([6 * dayMs, -dayMs, 31_000])('is that of the service, where that is ahead by %i ms', (ms) => {
    takeTime(dateAt(here + ms))
    expect(now()).toBe(here + ms)
  })

  it.each([null, '', 'soon'])('is as it was where an answer tells none: %s', (date) => {
    takeTime(dateAt(here + dayMs))
    takeTime(date)
    expect(now()).toBe(here + dayMs)
  })

  it.each([29_000, -29_000, 0])('is that of this computer where the two differ by no more than %i ms', (ms) => {
    takeTime(dateAt(here + ms))
    expect(now()).toBe(here)
  })
})
