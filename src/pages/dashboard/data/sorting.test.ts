import { describe, expect, it } from 'vitest'
import { readOrder, sortRows, turnOrder, writeOrder } from './sorting.ts'

const keys = ['name', 'revenue'] as const
const usual = { key: 'revenue', isUp: false } as const

describe('the order of a table', () => {
  it.each([
    [null, usual],
    ['', usual],
    ['nothing', usual],
    ['revenue', { key: 'revenue', isUp: true }],
    ['-name', { key: 'name', isUp: false }],
  ])('of the address %j', (text, expected) => {
    expect(readOrder(text, keys, usual)).toEqual(expected)
  })

  it.each([
    [usual, 'revenue', false, 'revenue'],
    [{ key: 'revenue', isUp: true }, 'revenue', false, '-revenue'],
    [usual, 'name', true, 'name'],
    [{ key: 'name', isUp: true }, 'revenue', false, '-revenue'],
  ] as const)('of %j turns with a click on %s', (order, key, isText, expected) => {
    expect(writeOrder(turnOrder<(typeof keys)[number]>(order, key, isText))).toBe(expected)
  })

  it('keeps equal rows as they are, in both directions', () => {
    const rows = ['b1', 'a1', 'a2', 'b2']
    const byLetter = (one: string, other: string) => (one[0] ?? '').localeCompare(other[0] ?? '')
    expect(sortRows(rows, byLetter, true)).toEqual(['a1', 'a2', 'b1', 'b2'])
    expect(sortRows(rows, byLetter, false)).toEqual(['b1', 'b2', 'a1', 'a2'])
    expect(rows).toEqual(['b1', 'a1', 'a2', 'b2'])
  })
})
