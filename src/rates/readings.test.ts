import { expect, it } from 'vitest'
import { readReadings } from './readings.ts'

const malformed = 'the source returned a reading that is not { token, rate, at }'

it('takes readings and refusals by token', () => {
  const readings = [
    { token: 'SOL', rate: 150n, at: 1, average: '2' },
    { token: 'NATIVE', why: 'not today', rate: 7n },
  ]
  expect([...readReadings(readings).values()]).toEqual([readings[0], { token: 'NATIVE', why: 'not today' }])
})

it.each<readonly [string, unknown]>([
  ['a number for a rate', { rate: 150 }],
  ['no rate', {}],
  ['text for a time', { rate: '1', at: '2026' }],
  ['a number for an average', { rate: '1', average: 1 }],
  ['something else for a reason', { why: 7 }],
])('refuses a token with %s', (_name, reading) => {
  const list = [{ token: 'SOL', ...(reading as object) }]
  expect(readReadings(list).get('SOL')).toEqual({ token: 'SOL', why: malformed })
})

it('refuses a token that is told twice, or three times', () => {
  const reading = { token: 'SOL', rate: '1' }
  const refusal = { token: 'SOL', why: 'the source returned two rates for this token' }
  expect([...readReadings([reading, reading]).values()]).toEqual([refusal])
  expect([...readReadings([reading, reading, reading]).values()]).toEqual([refusal])
})

it('leaves out names that are not codes of tokens', () => {
  expect(readReadings([{ token: 'btc', rate: '1' }, { token: 'toString', rate: '1' }, { rate: '1' }]).size).toBe(0)
})

it.each([undefined, null, {}, 'SOL', 7])('throws on %j', (answer) => {
  expect(() => readReadings(answer)).toThrow('the source did not return a list of readings')
})

it.each([undefined, null, 7, 'SOL', [[]]])('throws on a list with %j in it', (entry) => {
  expect(() => readReadings([entry])).toThrow('the source returned a list with other values than readings')
})
