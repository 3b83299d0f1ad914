import { describe, expect, it } from 'vitest'
import { nameEndpoint, parseEndpoint } from './endpoint.ts'

describe('the option endpoint', () => {
  it.each([
    ['/api/weather', { methods: ['GET'], path: '/api/weather' }],
    ['POST /api/weather', { methods: ['POST'], path: '/api/weather' }],
    ['GET,HEAD /files/*', { methods: ['GET', 'HEAD'], path: '/files/*' }],
    ['weather', undefined],
    ['get /api', undefined],
    ['GET  /api', undefined],
    ['/a b', undefined],
    [`/${'x'.repeat(200)}`, undefined],
    ['/ü', undefined],
  ])('%s', (text, expected) => {
    expect(parseEndpoint(text)).toEqual(expected)
  })
})

describe('the endpoint of a request', () => {
  it.each([
    ['/api/data?size=1', '/api/data'],
    ['/api/data#part', '/api/data'],
    ['/?', '/'],
    [`/${'x'.repeat(300)}`, `/${'x'.repeat(199)}`],
    ['/a\u0007b', '/a_b'],
    ['/\u202egnp.exe', '/_gnp.exe'],
  ])('%s', (target, expected) => {
    expect(nameEndpoint(undefined, { target })).toBe(expected)
  })

  it('is the name that the provider gave', () => {
    expect(nameEndpoint(parseEndpoint('GET /users/:id'), { target: '/users/7?x' })).toBe('/users/:id')
  })
})
