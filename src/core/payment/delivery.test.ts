import { describe, expect, it } from 'vitest'
import { computeOutcome, dependsOnArrival } from './delivery.ts'

describe('computeOutcome', () => {
  it.each([
    ['GET', 200, 10, 'finished', 'delivered'],
    ['GET', 200, 0, 'finished', 'delivered'],
    ['POST', 201, 5, 'finished', 'delivered'],
    ['GET', 302, 0, 'finished', 'delivered'],
    ['GET', 206, 5, 'finished', 'delivered'],
    ['GET', 200, 5, 'aborted', 'partial'],
    ['GET', 200, 5, 'failed', 'partial'],
    ['GET', 200, 0, 'aborted', 'no_body'],
    ['GET', 200, 0, 'failed', 'not_started'],
    ['GET', 304, 0, 'finished', 'no_body'],
    ['HEAD', 200, 0, 'finished', 'no_body'],
    ['OPTIONS', 204, 0, 'finished', 'no_body'],
    ['OPTIONS', 200, 10, 'finished', 'delivered'],
    ['GET', 404, 9, 'finished', 'partial'],
    ['GET', 400, 0, 'aborted', 'no_body'],
    ['GET', 400, 1, 'aborted', 'partial'],
    ['GET', 500, 9, 'finished', 'not_started'],
    ['GET', 503, 9, 'aborted', 'not_started'],
    ['HEAD', 500, 0, 'finished', 'not_started'],
    ['GET', undefined, 0, 'aborted', 'no_body'],
    ['GET', undefined, 0, 'failed', 'not_started'],
  ] as const)('%s %s with %i body bytes, %s: %s', (method, status, bodyBytes, ending, outcome) => {
    expect(computeOutcome({ unit: 'request', method, status, bodyBytes, ending })).toBe(outcome)
  })

  it.each([
    ['byte', 200, 5, 'aborted', 'delivered'],
    ['byte', 200, 5, 'failed', 'delivered'],
    ['byte', 200, 0, 'failed', 'not_started'],
    ['byte', 204, 0, 'finished', 'no_body'],
    ['byte', 404, 9, 'finished', 'no_body'],
    ['byte', 500, 9, 'aborted', 'not_started'],
    ['file', 200, 5, 'finished', 'delivered'],
    ['file', 206, 5, 'aborted', 'partial'],
    ['file', 416, 5, 'finished', 'no_body'],
    ['second', 200, 5, 'finished', 'delivered'],
    ['second', 404, 5, 'finished', 'partial'],
  ] as const)('of a %s: %s with %i body bytes, %s: %s', (unit, status, bodyBytes, ending, outcome) => {
    expect(computeOutcome({ unit, method: 'GET', status, bodyBytes, ending })).toBe(outcome)
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
