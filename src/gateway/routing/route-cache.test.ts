import { describe, expect, it } from 'vitest'
import { type Pattern, parsePattern } from './match.ts'
import { createFinding, readPath } from './route-cache.ts'

function patternOf(path: string): Pattern {
  const reading = parsePattern(path)
  if (reading.kind === 'problem') throw new Error(reading.why)
  return reading.pattern
}

const rowOf = (path: string, ...methods: string[]) => ({ path, pattern: patternOf(path), methods: new Set(methods) })
const reading = rowOf('/api/data', 'GET', 'HEAD')
const writing = rowOf('/api/data', 'POST')
const files = rowOf('/files/*', 'GET')
const open = () => createFinding([reading, writing, files])

describe('the route of a target', () => {
  it('returns the same result for any query', () => {
    const find = open()
    for (const target of ['/api/data', '/api/data', '/api/data?a=1', '/api/data?b=/../x'])
      expect(find('GET', target)).toBe(reading)
  })

  it.each([
    ['another method', 'POST', '/api/data', writing],
    ['a method that has none', 'DELETE', '/api/data', undefined],
    ['another path', 'GET', '/api/datA', undefined],
    ['one that goes on', 'GET', '/api/data/', undefined],
    ['a part that no server is sent', 'GET', '/api/data#x', undefined],
    ['such a part behind a query', 'GET', '/api/data?x#y', undefined],
    ['a path that upstreams read in different ways', 'GET', '/files/../api/data', undefined],
    ['an address of the service itself', 'GET', '/metrics', undefined],
  ])('is not taken from another: %s', (_name, method, target, expected) => {
    const find = open()
    find('GET', '/api/data')
    expect(find(method, target)).toBe(expected)
    expect(find(method, target)).toBe(expected)
  })

  it('never hides the paths of the service itself', () => {
    const find = createFinding([rowOf('/*', 'GET')])
    expect(find('GET', '/x')).toBeDefined()
    for (const target of ['/metrics', '/metrics', '/metrics?x', '/analytics/below'])
      expect(find('GET', target)).toBeUndefined()
  })

  it('is found for more paths than are remembered', () => {
    const find = open()
    for (let turn = 0; turn < 2; turn += 1) {
      for (let index = 0; index < 2_000; index += 1) expect(find('GET', `/files/${index}`)).toBe(files)
    }
    expect(find('GET', `/files/${'x'.repeat(5_000)}`)).toBe(files)
  })
})

it('a path ends before the query', () => {
  expect(['/a?b', '/a', '?', '/a?b?c'].map(readPath)).toEqual(['/a', '/a', '', '/a'])
})
