import { afterEach, expect, it, vi } from 'vitest'
import { attempt, ok } from './finding.ts'

afterEach(() => {
  vi.useRealTimers()
})

it.each([
  ['throws', () => Promise.reject(new Error('out of memory')), 'could not be checked: out of memory'],
  [
    'throws at once, and no error',
    () => {
      throw 'nonsense'
    },
    'could not be checked: nonsense',
  ],
])('a check that %s is a finding', async (_name, look, finding) => {
  expect(await attempt('nodes', look)).toEqual([
    { check: 'nodes', level: 'fail', finding, next: expect.stringContaining('report') },
  ])
})

it('a check that never ends is a finding', async () => {
  vi.useFakeTimers()
  const findings = attempt('nodes', () => new Promise(() => {}))
  await vi.advanceTimersByTimeAsync(20_000)
  expect((await findings)[0]).toMatchObject({ level: 'fail', finding: 'could not be checked in time' })
})

it('a check that ends returns its finding', async () => {
  expect(await attempt('nodes', () => [ok('fine')])).toEqual([{ check: 'nodes', level: 'ok', finding: 'fine' }])
})
