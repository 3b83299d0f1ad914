/** T176, T251, T252: a request in which the price function and the upstream could read different values. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../harness/raw.ts'
import { codeOf } from '../harness/shop.ts'
import { createGatewayFixture, type Gate, type GatewayFixture } from './gateway-fixture.ts'

const refused = '400 parameter_repeated'
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
let fixture: GatewayFixture
let gate: Gate
beforeAll(async () => {
  fixture = await createGatewayFixture()
  const methods = ['GET', 'POST'] as const
  const bySize = ({ query }: { query(name: string): string | undefined }) => (query('size') === 'large' ? 1 : 0.01)
  const names = ['small', 'large', 'large one', 'größe', 'a@b', '100%']
  const byPath = ({ path }: { path: string }) => names.indexOf(path.slice('/models/'.length)) || 0.01
  gate = await fixture.open({
    routes: [
      { path: '/query', methods, price: bySize },
      { path: '/listed', methods, price: bySize, bind: { query: ['size', 'model'] } },
      { path: '/body', methods, price: bySize, bind: { query: ['size'], body: true } },
      { path: '/nested', price: ({ query }) => (query('filter[size]') === 'large' ? 1 : 0.01) },
      {
        path: '/header',
        price: ({ header }) => (header('x-model') === 'large' ? 1 : 0.01),
        bind: { headers: ['x-model'] },
      },
      {
        path: '/agent',
        price: ({ header }) => (header('user-agent') === 'large' ? 1 : 0.01),
        bind: { headers: ['user-agent'] },
      },
      {
        path: '/careless',
        methods,
        price: ({ query }) => {
          try {
            return query('size') === 'large' ? 1 : 0.01
          } catch {
            return 0.01
          }
        },
      },
      { path: '/sized', price: 0.01, per: 'megabyte', size: ({ query }) => (query('size') === 'large' ? 9e6 : 1e6) },
      { path: '/fixed', price: 0.01, bind: { query: ['size'] } },
      { path: '/models/:name', price: byPath },
      { path: '/slash/:name/', price: ({ path }) => (path === '/slash/large/' ? 1 : 0.01) },
      { path: '/below/*', price: ({ path }) => (path === '/below/models/large' ? 6 : 0.01) },
      { path: '/sizes/:name', price: 1, per: 'megabyte', size: ({ path }) => (path === '/sizes/large' ? 9e6 : 1e6) },
      { path: '/plain/:name', price: () => 0.01 },
      { path: '/upload', methods, price: () => 0.01, bind: 'path' },
    ],
  })
})
afterAll(() => fixture.close())

const status = async (path: string, init?: RequestInit) => codeOf(await fetch(`${gate.url}${path}`, init))

describe('T176: a parameter that the price function reads', () => {
  it.each([
    ['repeated', 'size=small&size=large'],
    ['repeated with one value', 'size=small&size=small'],
    ['beside a list', 'size=small&size[]=large'],
    ['as a list only', 'size[]=large'],
    ['as an encoded list', 'size=small&size%5B%5D=large'],
    ['as a numbered list', 'size=small&size[0]=large'],
    ['as an object', 'size=small&size[x]=large'],
    ['as a name with a dot', 'size=small&size.x=large'],
    ['in brackets', 'size=small&[size]=large'],
    ['with an encoded letter', 'size=small&%73ize=large'],
    ['encoded twice', 'size=small&%2573ize=large'],
    ['in another case', 'size=small&SIZE=large'],
    ['in another case only', 'SIZE=large'],
    ['after a space', 'size=small&%20size=large'],
    ['before a zero byte', 'size=small&size%00=large'],
    ['in full-width letters', 'size=small&%EF%BD%93ize=large'],
    ['behind a semicolon', 'size=small&x=1;size=large'],
    ['without a value', 'size=small&size'],
  ])('%s is refused with 400 before any price is told', async (_name, query) => {
    for (const path of ['/query', '/listed', '/careless', '/sized'])
      expect([path, await status(`${path}?${query}`)]).toEqual([path, refused])
  })

  it('is named by the refusal', async () => {
    const answer = await fetch(`${gate.url}/query?size=small&size=large`)
    expect(await answer.json()).toMatchObject({
      code: 'parameter_repeated',
      retryable: false,
      detail: /the parameter size/,
    })
  })

  it.each([
    '/query?size=large',
    '/query?sizes=1&oversize=2&resize[]=3&tag=a&tag=b',
    '/query?text=a;b&size=small',
    '/listed?size=large&model=x&other=1&other=2',
    '/nested?filter[size]=large&filter[color]=red&filter[color]=blue&filter=x',
    '/fixed?size=small&size=large',
    '/upload?size=small&size=large',
  ])('is sold where every reader sees one value: %s', async (path) => {
    expect((await fetch(`${gate.url}${path}`)).status).toBe(402)
  })

  it('in brackets of its own is refused where it is repeated', async () => {
    expect(await status('/nested?filter[size]=small&filter%5Bsize%5D=large')).toBe(refused)
    expect(await status('/nested?filter[size]=small&filter[size][]=large')).toBe(refused)
  })

  it('that is listed in bind is refused although the function does not read it', async () => {
    expect(await status('/listed?size=small&model=a&model=b')).toBe(refused)
  })

  it.each(['size[]=large', 'Size=large', 'size=large'])(
    'is refused beside a payment for the plain request: %s',
    async (more) => {
      const proof = await gate.buy('/listed?size=small')
      fixture.upstream.seen.length = 0
      expect(await codeOf(await gate.claim(proof, `/listed?size=small&${more}`))).toBe(refused)
      expect(fixture.upstream.seen).toEqual([])
      expect((await gate.claim(proof, '/listed?size=small')).status).toBe(200)
    },
  )
})

describe('T176: a form body that names a parameter of the price function', () => {
  const multipart = (name: string) => ({
    method: 'POST',
    headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
    body: `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nlarge\r\n--b--\r\n`,
  })
  it.each<[string, RequestInit]>([
    ['plain', { method: 'POST', headers: form, body: 'size=large' }],
    ['as a list', { method: 'POST', headers: form, body: 'a=1&size%5B%5D=large' }],
    ['in parts', multipart('size')],
    ['in parts, as a list', multipart('size[]')],
  ])('is refused before the price is told, and beside a payment: %s', async (_name, init) => {
    for (const path of ['/query', '/query?size=small', '/listed?size=small', '/body?size=small'])
      expect([path, await status(path, init)]).toEqual([path, refused])
    const proof = await gate.buy('/query', { method: 'POST' })
    fixture.upstream.seen.length = 0
    expect(await codeOf(await gate.claim(proof, '/query', init))).toBe(refused)
    expect(fixture.upstream.seen).toEqual([])
    const other = { ...init, body: String(init.body).replaceAll('size', 'other') }
    expect((await gate.claim(proof, '/query', other)).status).toBe(200)
    expect(fixture.upstream.seen.at(-1)?.body).toBe(other.body)
  })

  it('is refused where a second Content-Type makes it one', async () => {
    const headers = [
      'Content-Type: text/plain',
      'Content-Type: application/x-www-form-urlencoded',
      'Content-Length: 10',
    ]
    const answer = await ask(gate.url, 'POST /query?size=small HTTP/1.1', [...headers, '', 'size=large'])
    expect([answer.status, answer.body]).toEqual([400, expect.stringContaining('parameter_repeated')])
  })

  it('is not read where the function sees no parameter', async () => {
    const body = `size=${'x'.repeat(2_000_000)}`
    expect((await fetch(`${gate.url}/upload`, { method: 'POST', headers: form, body })).status).toBe(402)
  })
})

describe('T251: a form that programs could read in different ways', () => {
  const post = (headers: Record<string, string>, body: string | Uint8Array): RequestInit => ({
    method: 'POST',
    headers,
    body: typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body),
  })
  const multipart = (disposition: string, type = 'multipart/form-data; boundary=b') =>
    post({ 'Content-Type': type }, `--b\r\n${disposition}\r\n\r\nlarge\r\n--b--\r\n`)
  const upload = () => {
    const data = new FormData()
    for (const name of ['other', 'größe', 'resize[]']) data.append(name, 'size=large')
    data.append('file', new Blob(['size=1&size=2\r\nContent-Disposition: form-data; name="size"\r\n']), 'size.png')
    return data
  }
  it.each<[string, RequestInit]>([
    ['compressed', post({ ...form, 'Content-Encoding': 'gzip' }, gzipSync('size=large'))],
    ['without a type', post({}, 'size=large')],
    ['with an empty type', post({ 'Content-Type': '' }, 'size=large')],
    ['in UTF-16', post({ 'Content-Type': `${form['Content-Type']}; charset=utf-16le` }, 's\0i\0z\0e\0=\0')],
    ['with a folded header', multipart('Content-Disposition: form-data;\r\n name="size"')],
    ['with a charset in the name', multipart("Content-Disposition: form-data; name*=utf-8''size")],
    ['with a name in two parts', multipart('Content-Disposition: form-data; name*0="si"; name*1="ze"')],
    ['with a space before the colon', multipart('Content-Disposition : form-data; name="size"')],
    ['with a name in another value', multipart('Content-Disposition: form-data; x=" name=y"; name="size"')],
    ['of mixed parts', multipart('Content-Disposition: form-data; name="size"', 'multipart/mixed; boundary=b')],
    ['of related parts', multipart('Content-ID: size', 'multipart/related; boundary=b')],
    [
      'with two boundaries',
      multipart('Content-Disposition: form-data; name="x"', 'multipart/x; boundary=a; boundary=b'),
    ],
  ])('is refused before the price is told, and beside a payment: %s', async (_name, init) => {
    for (const path of ['/query?size=small', '/listed?size=small', '/body?size=small', '/careless?size=small'])
      expect([path, await status(path, init)]).toEqual([path, refused])
    expect((await fetch(`${gate.url}/upload?size=small`, init)).status).toBe(402)
    const proof = await gate.buy('/query', { method: 'POST' })
    fixture.upstream.seen.length = 0
    expect(await codeOf(await gate.claim(proof, '/query', init))).toBe(refused)
    expect(fixture.upstream.seen).toEqual([])
  })

  it('is explained by the refusal', async () => {
    const init = post({ ...form, 'Content-Encoding': 'gzip' }, gzipSync('other=large'))
    const problem = await (await fetch(`${gate.url}/query`, init)).json()
    expect(problem).toMatchObject({ detail: expect.stringMatching(/the parameter size.*without Content-Encoding/) })
  })

  it.each<[string, RequestInit]>([
    ['a form with a field and a file', { method: 'POST', body: upload() }],
    ['compressed JSON', post({ 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, gzipSync('{}'))],
    ['bytes without a type', post({}, '{"a":[1,2]}')],
    ['a long body of another type', post({ 'Content-Type': 'application/octet-stream' }, 'x'.repeat(2_000_000))],
    ['an uncompressed form', post({ ...form, 'Content-Encoding': 'identity' }, 'other=large')],
    ['no body', { method: 'POST' }],
  ])('is none, and is sold: %s', async (_name, init) => {
    expect((await fetch(`${gate.url}/query?size=small`, init)).status).toBe(402)
  })
})

describe('T252: a path that the price function reads', () => {
  it.each([
    ['/models/large', '1'],
    ['/models/small', '0.01'],
    ['/models/large%20one', '2'],
    ['/models/gr%C3%B6%C3%9Fe', '3'],
    ['/models/gr%c3%b6%c3%9fe', '3'],
    ['/models/a@b', '4'],
    ['/models/a%40b', '4'],
    ['/models/100%25', '5'],
    ['/slash/large/', '1'],
    ['/below/models/large', '6'],
  ])('%s costs %s, as the function sees it decoded', async (path, price) => {
    expect((await gate.challenge(path)).amount).toBe(price)
  })

  it.each(['/models/%6Carge', '/models/l%61rge', '/models/la%72g%65', '/slash/%6carge/', '/sizes/%6Carge'])(
    'is refused with escapes that it does not need: %s',
    async (path) => expect(await status(path)).toBe(refused),
  )

  it('is explained by the refusal', async () => {
    const problem = await (await fetch(`${gate.url}/models/%6Carge`)).json()
    expect(problem).toMatchObject({ detail: expect.stringMatching(/the path.*usual form/) })
  })

  it('is free in its form where no function reads it', async () => {
    expect(await status('/plain/%6Carge')).toMatch(/^402/)
  })
})

describe('T176: a header that the price function reads', () => {
  it.each([
    ['twice', '/header', ['X-Model: small', 'x-model: large']],
    ['twice, of those that Node takes the first of', '/agent', ['User-Agent: small', 'User-Agent: large']],
    ['with an underscore', '/header', ['X-Model: small', 'X_Model: large']],
    ['with an underscore only', '/header', ['X_Model: large']],
    ['as one that Connection takes away', '/header', ['X-Model: small', 'Connection: X-Model']],
  ])('is refused with 400 before any price is told: %s', async (_name, path, headers) => {
    const answer = await ask(gate.url, `GET ${path} HTTP/1.1`, headers)
    expect([answer.status, answer.body]).toEqual([400, expect.stringContaining('parameter_repeated')])
  })

  it('is refused beside a payment', async () => {
    const proof = await gate.buy('/agent', { headers: { 'User-Agent': 'small' } })
    const lines = ['User-Agent: small', 'User-Agent: large', `Payment-Proof: ${proof}`]
    expect((await ask(gate.url, 'GET /agent HTTP/1.1', lines)).body).toContain('parameter_repeated')
    expect((await gate.claim(proof, '/agent', { headers: { 'User-Agent': 'small' } })).status).toBe(200)
  })
})
