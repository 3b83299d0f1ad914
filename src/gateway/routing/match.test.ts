import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { splitPath } from '../../core/http/plain-path.ts'
import { covers, createFind, matches, type Pattern, parsePattern } from './match.ts'

function pattern(text: string): Pattern {
  const reading = parsePattern(text)
  if (reading.kind === 'problem') throw new Error(reading.why)
  return reading.pattern
}
const isFor = (text: string, path: string): boolean => {
  const parts = splitPath(path)
  return parts !== undefined && matches(pattern(text), parts)
}

describe('a pattern', () => {
  it.each([
    ['/api/weather', '/api/weather', true],
    ['/api/weather', '/api/weathers', false],
    ['/api/weather', '/api', false],
    ['/api/weather', '/api/weather/now', false],
    ['/users/:id', '/users/7', true],
    ['/users/:id', '/users', false],
    ['/users/:id', '/users/7/posts', false],
    ['/users/:id/posts', '/users/7/posts', true],
    ['/files/*', '/files/a', true],
    ['/files/*', '/files/a/b/c', true],
    ['/files/*', '/files', false],
    ['/files/*', '/files/', false],
    ['/', '/', true],
    ['/', '/a', false],
    ['/*', '/a/b', true],
    ['/*', '/', false],
    ['/caf%C3%A9', '/caf%c3%a9', true],
    ['/a+b', '/a%2Bb', true],
    ['/a b', '/a%20b', false],
  ])('%s for %s: %s', (text, path, expected) => {
    const reading = parsePattern(text)
    expect(reading.kind === 'pattern' && isFor(text, path)).toBe(expected)
  })

  it.each([
    ['api', 'slash'],
    ['/a?b', 'query'],
    ['/a//b', 'plain path'],
    ['/a/../b', 'plain path'],
    ['/a/%2e%2e/b', 'plain path'],
    ['/*/b', 'end'],
    ['/a/b*', 'whole segment'],
    ['/:', 'whole segment'],
    ['/:9', 'whole segment'],
    ['/é', 'plain path'],
  ])('is refused as %s', (text, why) => {
    expect(parsePattern(text)).toEqual({ kind: 'problem', why: expect.stringContaining(why) })
  })
})

describe('paths', () => {
  it.each([
    '/api/data/',
    '/API/DATA',
    '/Api/data',
    '//api/data',
    '/api//data',
    '/api/data//',
    '/api/./data',
    '/api/../api/data',
    '/api/%2e%2e/api/data',
    '/api/%2E/data',
    '/x/..%20/api/data',
    '/x/.%20./api/data',
    '/x/%20..%20/api/data',
    '/x/%20/api/data',
    '/x/.../api/data',
    '/x/%EF%BC%8E%EF%BC%8E/api/data',
    '/x/%E2%80%A5/api/data',
    '/x/%EF%BC%8E./api/data',
    '/x/.%E2%80%8B./api/data',
    '/x/..%EF%BC%8Fapi/data',
    '/x/a%EF%BC%BC..',
    '/x/%EF%BC%8E%EF%BC%8E%EF%BC%8Fapi%EF%BC%8Fdata',
    '/api%2fdata',
    '/api%2Fdata',
    '/api\\data',
    '/api%5cdata',
    '/api/data;x=1',
    '/api/data%3bx',
    '/api/data%00',
    '/api/data%0a',
    '/api/data%7f',
    '/api/data#f',
    '/api/data%23f',
    '/api/data%3f',
    '/api/%2564ata',
    '/api/data%',
    '/api/data%zz',
    '/api/data%c0%ae',
    '/api/data%ff',
    '/api/data\u0000',
    '/api/data ',
    '/api/data%20',
    '/api/data.',
    '/api/data::$DATA',
    '/api/DATA.::$data',
    '/api:$I30:$INDEX_ALLOCATION/data',
    '/api/da\u00e9',
    'api/data',
    '*',
    '',
  ])('T97: %j is no way around the price of /api/data', (path) => {
    const rows = [
      { pattern: pattern('/api/data'), methods: new Set(['GET']), isPaid: true },
      { pattern: pattern('/*'), methods: new Set(['GET']), isPaid: false },
    ]
    const parts = splitPath(path)
    expect(parts && createFind(rows)('GET', parts)).toBeUndefined()
  })

  it.each(['/x/100%25%20sure', '/x/a%20b.c', '/x/.well-known', '/x/%E6%9D%B1%E4%BA%AC', '/x/a..b', '/x/..a'])(
    'names like %s are served',
    (path) => {
      expect(isFor('/x/:name', path)).toBe(true)
    },
  )

  it('T97: an alias that the upstream decodes to the same is the same route', () => {
    expect(isFor('/api/data', '/api/%64ata')).toBe(true)
    expect(isFor('/api/data', '/%61pi/data')).toBe(true)
  })

  it.each(['data%2f', 'data%00', 'data%3f', 'data%23', '%2e%2e', 'data%5c'])(
    'T98: :resource is never %s, which decodes to something that is no name',
    (name) => {
      expect(isFor('/api/:resource', `/api/${name}`)).toBe(false)
    },
  )

  it('a route that names a path has it, also beside one that resembles it', () => {
    const rows = ['/docs', '/docs/', '/Docs', '/guide/*', '/guide/*/'].map((text) => ({
      text,
      pattern: pattern(text),
      methods: new Set(['GET']),
    }))
    const find = createFind(rows)
    const route = (path: string) => find('GET', splitPath(path) ?? { texts: [], endsWithSlash: false })?.text
    const paths = ['/docs', '/docs/', '/Docs', '/DOCS', '/guide/a', '/guide/a/']
    expect(paths.map(route)).toEqual(['/docs', '/docs/', '/Docs', undefined, '/guide/*', '/guide/*/'])
  })

  it('T259: a path below a file has no route, because a server of scripts would run the file', () => {
    const rows = ['/report.php', '/v1.0', '/.well-known', '/shop/:item', '/*'].map((text) => ({
      text,
      pattern: pattern(text),
      methods: new Set(['GET']),
    }))
    const find = createFind(rows)
    const route = (path: string) => find('GET', splitPath(path) ?? { texts: [], endsWithSlash: false })?.text
    const paths = ['/report.php', '/report.php/x', '/Report.PHP/x/y', '/v1.0/x', '/.well-known/x', '/other.php/x']
    expect(paths.map(route)).toEqual(['/report.php', undefined, undefined, '/*', '/*', '/*'])
  })

  it('the method decides among routes of one path', () => {
    const rows = [
      { name: 'read', pattern: pattern('/things'), methods: new Set(['GET', 'HEAD']) },
      { name: 'write', pattern: pattern('/things'), methods: new Set(['POST']) },
    ]
    const name = (method: string) => createFind(rows)(method, { texts: ['things'], endsWithSlash: false })?.name
    expect([name('GET'), name('HEAD'), name('POST'), name('DELETE')]).toEqual(['read', 'read', 'write', undefined])
  })
})

describe('properties', () => {
  const word = fc.constantFrom('a', 'b', 'data', 'é', 'x y', '100%')
  const segment = fc.oneof({ weight: 3, arbitrary: word.map(encodeURIComponent) }, fc.constant(':id'))
  const patternText = fc
    .tuple(fc.array(segment, { maxLength: 3 }), fc.boolean(), fc.boolean())
    .map(([parts, star, slash]) => {
      const all = star ? [...parts, '*'] : parts
      return all.length === 0 ? '/' : `/${all.join('/')}${slash ? '/' : ''}`
    })
  const noise = fc.constantFrom(
    '/',
    '//',
    '..',
    '.',
    '%2f',
    '%2e',
    '%5c',
    ';',
    '\\',
    '%00',
    '#',
    'A',
    '%41',
    '%2541',
    ' ',
  )
  const rawPath = fc
    .array(fc.oneof({ weight: 3, arbitrary: word.map(encodeURIComponent).map((text) => `/${text}`) }, noise), {
      maxLength: 6,
    })
    .map((parts) => parts.join(''))

  const textsOf = ({ segments }: Pattern) => segments.filter(({ kind }) => kind === 'text').length

  /** Upstreams of many habits, each as a function from a raw path to the name under which it serves. */
  const habits: readonly ((path: string) => string)[] = [
    (path) => path,
    (path) => decodeURIComponent(path),
    (path) => decodeURIComponent(path).toLowerCase(),
    (path) => decodeURIComponent(path).replace(/(.)\/$/, '$1'),
    (path) => new URL(path, 'http://upstream').pathname,
    (path) => decodeURIComponent(decodeURIComponent(path.replaceAll('%25', '%2525')).replaceAll('%2525', '%25')),
    (path) => decodeURIComponent(path).replace(/;[^/]*/g, ''),
    (path) => decodeURIComponent(path).replace(/\\/g, '/').replace(/\/+/g, '/'),
    (path) => decodeURIComponent(path).normalize('NFKC'),
  ]

  it('T97: every forwarded request was matched by the route of its upstream path', () => {
    fc.assert(
      fc.property(fc.array(patternText, { minLength: 1, maxLength: 4 }), rawPath, (texts, path) => {
        const rows = texts.map((text) => ({ text, pattern: pattern(text), methods: new Set(['GET']) }))
        const parts = splitPath(path)
        const row = parts && createFind(rows)('GET', parts)
        // A path that a route names as it is, is that route's, whatever else an upstream may take it for.
        if (!row || row.pattern.segments.every(({ kind }) => kind === 'text')) return
        for (const habit of habits) {
          const served = splitPath(habit(path).split('/').map(encodeURIComponent).join('/'))
          const found = served && rows.find((one) => matches(one.pattern, served))
          // The upstream may serve nothing under that name; what it serves has no route that names more of it.
          if (found && found !== row) expect(textsOf(found.pattern)).toBeLessThanOrEqual(textsOf(row.pattern))
        }
      }),
      { numRuns: size(400, 20_000) },
    )
  })

  it('a pattern that covers another takes all of its paths', () => {
    fc.assert(
      fc.property(patternText, patternText, rawPath, (outer, inner, path) => {
        const parts = splitPath(path)
        if (!parts || !covers(pattern(outer), pattern(inner)) || !matches(pattern(inner), parts)) return
        expect(matches(pattern(outer), parts)).toBe(true)
      }),
      { numRuns: size(400, 20_000) },
    )
  })
})
