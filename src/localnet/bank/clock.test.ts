import { expect, it } from 'vitest'
import { createClock } from './clock.ts'

it('follows the wall clock at its distance', () => {
  let wall = 1_000
  const clock = createClock(500, () => wall)
  wall = 1_100
  expect(clock.now()).toBe(1_600)
  clock.shift(10)
  expect(clock.now()).toBe(1_610)
  expect(clock.offset()).toBe(510)
})

it('does not go back when the machine does', () => {
  let wall = 10_000
  const clock = createClock(0, () => wall)
  wall = 20_000
  expect(clock.now()).toBe(20_000)
  wall = 5_000
  expect(clock.now()).toBe(20_000)
  wall = 5_001
  expect(clock.now()).toBe(20_001)
})
