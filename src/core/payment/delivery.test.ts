import { describe, expect, it } from 'vitest'
import { computeConsequence, dependsOnArrival } from './delivery.ts'

describe('consequenceOf', () => {
  it.each([
    ['GET', 200, 10, 'finished', 'settle'],
    ['GET', 200, 0, 'finished', 'settle'],
    ['POST', 201, 5, 'finished', 'settle'],
    ['GET', 302, 0, 'finished', 'settle'],
    ['GET', 206, 5, 'finished', 'settle'],
    ['GET', 200, 5, 'aborted', 'count'],
    ['GET', 200, 5, 'failed', 'count'],
    ['GET', 200, 0, 'aborted', 'free'],
    ['GET', 200, 0, 'failed', 'release'],
    ['GET', 304, 0, 'finished', 'free'],
    ['HEAD', 200, 0, 'finished', 'free'],
    ['OPTIONS', 204, 0, 'finished', 'free'],
    ['OPTIONS', 200, 10, 'finished', 'settle'],
    ['GET', 404, 9, 'finished', 'count'],
    ['GET', 400, 0, 'aborted', 'free'],
    ['GET', 400, 1, 'aborted', 'count'],
    ['GET', 500, 9, 'finished', 'release'],
    ['GET', 503, 9, 'aborted', 'release'],
    ['HEAD', 500, 0, 'finished', 'release'],
    ['GET', undefined, 0, 'aborted', 'free'],
    ['GET', undefined, 0, 'failed', 'release'],
  ] as const)('%s %s with %i body bytes, %s: %s', (method, status, bodyBytes, ending, consequence) => {
    expect(computeConsequence({ unit: 'request', method, status, bodyBytes, ending })).toBe(consequence)
  })

  it.each([
    ['byte', 200, 5, 'aborted', 'settle'],
    ['byte', 200, 5, 'failed', 'settle'],
    ['byte', 200, 0, 'failed', 'release'],
    ['byte', 204, 0, 'finished', 'free'],
    ['byte', 404, 9, 'finished', 'free'],
    ['byte', 500, 9, 'aborted', 'release'],
    ['file', 200, 5, 'finished', 'settle'],
    ['file', 206, 5, 'aborted', 'count'],
    ['file', 416, 5, 'finished', 'free'],
    ['second', 200, 5, 'finished', 'settle'],
    ['second', 404, 5, 'finished', 'count'],
  ] as const)('of a %s: %s with %i body bytes, %s: %s', (unit, status, bodyBytes, ending, consequence) => {
    expect(computeConsequence({ unit, method: 'GET', status, bodyBytes, ending })).toBe(consequence)
  })
})

describe('dependsOnArrival', () => {
  it.each([
    ['request', 200, true],
    ['request', 302, true],
    ['request', 404, false],
    ['request', 500, false],
    ['file', 200, false],
    ['byte', 200, false],
    ['second', 200, false],
  ] as const)('of a %s with status %i: %s', (unit, status, depends) => {
    expect(dependsOnArrival({ unit, method: 'GET', status, bodyBytes: 100_000 })).toBe(depends)
  })
})
