import { expect, it } from 'vitest'
import { parseAllowanceLeft } from './allowance.ts'

const until = '2026-01-31T12:00:00.000Z'

it.each([
  ['unit=request; remaining=3', { unit: 'request', remaining: 3 }],
  [`unit=second; remaining=60; until=${until}`, { unit: 'second', remaining: 60, until }],
  ['unit=second; remaining=60; until=2026-01-31 (pay again)', { unit: 'second', remaining: 60 }],
  ['unit=second; remaining=60; until=never', { unit: 'second', remaining: 60 }],
  ['unit=moon; remaining=1', undefined],
  ['unit=byte; remaining=-1', undefined],
  [null, undefined],
])('reads the rest of an allowance: %s', (header, left) => {
  expect(parseAllowanceLeft(header)).toEqual(left)
})
