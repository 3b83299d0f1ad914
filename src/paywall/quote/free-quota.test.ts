import { expect, it } from 'vitest'
import { createLimits } from '../../core/collections/limits.ts'
import { createFreeCounter } from './free-quota.ts'

function counter(requests: number, seconds: number) {
  let now = 0
  const clock = { now: () => now, monotonic: () => now }
  const limits = createLimits(clock)
  return {
    ...createFreeCounter({ scope: 'default', endpoint: undefined }, { requests, seconds }, { clock, limits }),
    advance: (ms: number) => {
      now += ms
    },
  }
}

it('counts every address by itself, and begins anew with every period', () => {
  const free = counter(2, 60)
  expect([1, 2, 3].map(() => free.admit('a'))).toEqual([true, true, false])
  expect(free.admit('b')).toBe(true)
  free.advance(59_999)
  expect(free.admit('a')).toBe(false)
  free.advance(1)
  expect(free.admit('a')).toBe(true)
})

it('keeps no more than a hundred thousand addresses, and those that it knows keep their share', () => {
  const free = counter(2, 60)
  const addresses = Array.from({ length: 100_000 }, (_, index) => `address-${index}`)
  expect(addresses.filter((address) => !free.admit(address))).toEqual([])
  expect(free.admit('one more')).toBe(false)
  expect(free.admit('address-7')).toBe(true)
  expect(free.admit('address-7')).toBe(false)
  free.advance(60_000)
  expect(free.admit('one more')).toBe(true)
})
