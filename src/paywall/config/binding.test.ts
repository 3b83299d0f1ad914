import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import type { BodyReading, Incoming } from '../../core/http/http.ts'
import { type Bind, boundText, pricedRequest, readBodyFacts } from './binding.ts'

const visit = (target: string, headers: Readonly<Record<string, string>> = {}, body?: BodyReading): Incoming => ({
  request: {},
  method: 'GET',
  target,
  header: (name) => headers[name],
  rawHeaders: () => Object.entries(headers).flat(),
  origin: () => 'http://shop.example',
  peer: () => undefined,
  body: async () => body ?? { kind: 'body', bytes: new Uint8Array() },
})

describe('boundText', () => {
  const isSame = (bind: Bind, one: Incoming, other: Incoming) => boundText(bind, one) === boundText(bind, other)

  it.each<[string, Bind, Incoming, Incoming, boolean]>([
    ['the whole query', 'request', visit('/a?x=1'), visit('/a?x=2'), false],
    ['the path only', 'path', visit('/a?x=1'), visit('/a?x=2'), true],
    ['another path', 'path', visit('/a'), visit('/b'), false],
    ['a listed parameter', { query: ['x'] }, visit('/a?x=1'), visit('/a?x=2'), false],
    ['a parameter that is not listed', { query: ['x'] }, visit('/a?x=1&y=1'), visit('/a?y=2&x=1'), true],
    ['a listed parameter that is missing', { query: ['x'] }, visit('/a'), visit('/a?x='), false],
    ['a listed parameter given twice', { query: ['x'] }, visit('/a?x=1'), visit('/a?x=1&x=2'), false],
    ['its values in another order', { query: ['x'] }, visit('/a?x=1&x=2'), visit('/a?x=2&x=1'), false],
    ['two parameters in another order', { query: ['x', 'y'] }, visit('/a?x=1&y=2'), visit('/a?y=2&x=1'), true],
    ['another spelling of the same value', { query: ['x'] }, visit('/a?x=%61'), visit('/a?x=a'), true],
    ['the whole query beside a header', { headers: ['h'] }, visit('/a?x=1'), visit('/a?x=2'), false],
    ['a listed header', { headers: ['h'] }, visit('/a', { h: '1' }), visit('/a', { h: '2' }), false],
    ['a listed header that is missing', { headers: ['h'] }, visit('/a', { h: '' }), visit('/a'), false],
    ['a header that is not listed', { headers: ['h'] }, visit('/a', { g: '1' }), visit('/a', { g: '2' }), true],
  ])('%s', (_name, bind, one, other, same) => expect(isSame(bind, one, other)).toBe(same))

  it('of one kind is never that of another', () => {
    const kinds: Bind[] = ['request', 'path', {}, { query: [] }, { headers: [] }, { body: true }]
    const texts = kinds.map((bind) => boundText(bind, visit('/a')))
    expect(new Set(texts.slice(0, 3)).size).toBe(3)
    expect(texts[5]).not.toBe(texts[2])
  })

  it('distinguishes any values in the listed parts', () => {
    const text = fc.string({ maxLength: 6 })
    fc.assert(
      fc.property(text, text, text, text, (a, b, c, d) => {
        const of = (x: string, h: string) =>
          boundText({ query: ['x'], headers: ['h'] }, visit(`/a?x=${encodeURIComponent(x)}`, { h }))
        expect(of(a, b) === of(c, d)).toBe(a === c && b === d)
      }),
      { numRuns: size(200, 2_000) },
    )
  })
})

describe('pricedRequest', () => {
  it('shows the bound parts', () => {
    const bind = { query: ['x'], headers: ['x-model'], body: true }
    const body = { digest: 'd', length: 7, form: { names: [] } }
    const { request } = pricedRequest(bind, visit('/a?x=1&y=2', { 'x-model': 'large' }), body)
    expect(request).toMatchObject({ method: 'GET', path: '/a', bodyBytes: 7 })
    expect([request.query('x'), pricedRequest('request', visit('/a?y=2')).request.query('x')]).toEqual(['1', undefined])
    expect(request.header('X-Model')).toBe('large')
  })

  it('shows nothing else', () => {
    const { request } = pricedRequest('path', visit('/a?x=1', { 'x-model': 'large' }))
    expect(() => request.query('x')).toThrow("bind: { query: ['x'] }")
    expect(() => (request.query as unknown as { size: string }).size).toThrow("query('size')")
    expect(JSON.stringify(request)).toBe('{"method":"GET","path":"/a"}')
    expect(() => request.header('x-model')).toThrow("bind: { headers: ['x-model'] }")
    expect(() => request.bodyBytes).toThrow('bind: { body: true }')
  })
})

describe('readBodyFacts', () => {
  const options = { mostBytes: 10, rawBody: undefined, isForm: false, isBound: true }
  const bytes = new TextEncoder().encode('hello')
  const sha = (encoding: 'base64' | 'base64url') => createHash('sha256').update(bytes).digest(encoding)
  const facts = { digest: sha('base64url'), length: 5, form: { names: [] } }
  const digestHeaders = { 'content-digest': `sha-256=:${sha('base64')}:`, 'content-length': '5' }

  it('are the digest and the length of the received body', async () => {
    expect(await readBodyFacts(visit('/', {}, { kind: 'body', bytes }), true, options)).toEqual(facts)
  })

  it('are believed as announced before payment, and never after', async () => {
    const gone = visit('/', digestHeaders, { kind: 'gone' })
    expect(await readBodyFacts(gone, false, options)).toEqual(facts)
    await expect(readBodyFacts(gone, true, options)).rejects.toThrow('rawBody')
    const other = visit('/', digestHeaders, { kind: 'body', bytes: new Uint8Array(5) })
    expect(await readBodyFacts(other, true, options)).not.toEqual(facts)
  })

  it('are undefined if the client left, which is no mistake of the provider', async () => {
    const refused = { kind: 'refused', code: 'body_incomplete' }
    expect(await readBodyFacts(visit('/', {}, { kind: 'broken' }), true, options)).toMatchObject(refused)
    expect(await readBodyFacts(visit('/', {}, { kind: 'broken' }), false, options)).toMatchObject(refused)
  })

  it.each([
    ['another algorithm', { ...digestHeaders, 'content-digest': 'sha-512=:AAAA:' }],
    ['no length', { 'content-digest': digestHeaders['content-digest'] }],
    ['a digest that is too short', { ...digestHeaders, 'content-digest': 'sha-256=:AAAA:' }],
  ])('are read where the announcement has %s', async (_name, headers) => {
    expect(await readBodyFacts(visit('/', headers, { kind: 'body', bytes }), false, options)).toEqual(facts)
  })

  it('come from rawBody where that is given', async () => {
    const rawBody = () => bytes
    expect(await readBodyFacts(visit('/', {}, { kind: 'gone' }), true, { ...options, rawBody })).toEqual(facts)
    const nothing = { ...options, rawBody: () => undefined }
    await expect(readBodyFacts(visit('/'), true, nothing)).rejects.toThrow('rawBody')
  })

  it('are refused of a body that is too long', async () => {
    const refused = { kind: 'refused', code: 'body_too_long' }
    expect(await readBodyFacts(visit('/', {}, { kind: 'too_long' }), true, options)).toEqual(refused)
    const rawBody = () => new Uint8Array(11)
    expect(await readBodyFacts(visit('/'), true, { ...options, rawBody })).toEqual(refused)
    // Before payment as well: whoever paid for it would never get in.
    const announced = { ...digestHeaders, 'content-length': '11' }
    expect(await readBodyFacts(visit('/', announced, { kind: 'too_long' }), false, options)).toEqual(refused)
  })
})
