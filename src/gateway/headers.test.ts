import { describe, expect, it } from 'vitest'
import { createFilter, isKeptHeader, passesToClient, passingHeaders } from './headers.ts'

const rules = { headers: {}, forward: [], trustsProxy: false, isPlain: false }
const connection = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authentication-info', 'proxy-authorization'],
  ...['proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
]
const ours = [
  'payment-proof',
  'payment-accept',
  'payment-receipt',
  'payment-allowance',
  'payment-status',
  'x-payment-tx',
  'x-payment',
  'payment-required',
  'payment-signature',
  'payment-response',
  'payment-authorization',
  'accept-payment',
]
const disguises = [
  ...['x-http-method', 'x-http-method-override', 'x-method-override', 'x-original-method', 'x-original-uri'],
  ...['x-original-url', 'x-rewrite-url'],
]
const proxied = [
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-prefix', 'x-real-ip', 'x-client-ip', 'true-client-ip'],
  ...['cf-connecting-ip', 'x-cluster-client-ip'],
]
const credentials = [
  ...['authorization', 'cookie', 'x-api-key', 'api-key', 'x-auth-token', 'x-access-token', 'x-amz-security-token'],
  ...['x-goog-api-key', 'remote-user', 'x-remote-user', 'x-remote-group', 'x-remote-groups', 'remote-email'],
  ...['remote-name', 'x-webauth-user', 'x-auth-request-user', 'x-authenticated-user', 'x-ms-client-principal-id'],
  ...['cf-access-jwt-assertion', 'ssl-client-cert', 'x-ssl-client-dn', 'client-cert', 'x-client-cert-chain'],
]

describe('a client’s header', () => {
  const passes = createFilter(rules)
  it.each([...connection, ...disguises, ...ours, 'x-paystile-anything', 'expect', 'host', 'http2-settings'])(
    'T106: %s passes on no terms',
    (name) => {
      expect(passes(name)).toBe(false)
      expect(passes(name.replaceAll('-', '_'))).toBe(false)
      expect(passes(name.toUpperCase())).toBe(false)
      expect(createFilter({ ...rules, forward: [name], trustsProxy: true })(name)).toBe(false)
    },
  )

  it.each(proxied)('T105: %s passes only where proxies are trusted', (name) => {
    expect(passes(name)).toBe(false)
    expect(createFilter({ ...rules, forward: [name] })(name)).toBe(false)
    expect(createFilter({ ...rules, trustsProxy: true })(name)).toBe(name !== 'x-forwarded-for')
  })

  it.each(credentials)('T144: %s passes only where it is asked for', (name) => {
    expect(passes(name)).toBe(false)
    expect(createFilter({ ...rules, forward: [name] })(name)).toBe(true)
  })

  it('of any other name passes, and beside a key of the provider’s only those of HTTP', () => {
    expect(['accept', 'x-model', 'stripe-account'].map(passes)).toEqual([true, true, true])
    const keyed = createFilter({ ...rules, headers: { 'x-key': '1' }, forward: ['x-model'] })
    const names = ['accept', 'x-model', 'stripe-account', 'x-key', 'X_Key'.toLowerCase(), 'sec-websocket-key']
    expect(names.map(keyed)).toEqual([true, true, false, false, false, true])
    expect(createFilter({ ...rules, headers: { accept: 'text/plain' } })('accept')).toBe(false)
    const named = createFilter({ ...rules, headers: { host: 'a', 'user-agent': 'b' } })
    expect(named('stripe-account')).toBe(true)
  })

  it('accept-encoding passes only if the response is not wrapped', () => {
    const name = 'accept-encoding'
    expect([passes(name), createFilter({ ...rules, isPlain: true })(name)]).toEqual([true, false])
  })

  it('is judged alike however many names there have been', () => {
    const many = createFilter(rules)
    for (let index = 0; index < 1_000; index += 1) expect(many(`x-${index}`)).toBe(true)
    expect([many('cookie'), many('cookie'), many(`x-payment-${'a'.repeat(100)}`)]).toEqual([false, false, false])
  })
})

describe('an upstream’s header', () => {
  it.each([...connection, ...ours, 'x-paystile-a', 'alt-svc', 'x-accel-redirect', 'x-sendfile'])(
    '%s does not reach the client',
    (name) => expect([name, name.toUpperCase()].map(passesToClient)).toEqual([false, false]),
  )
  it('of any other name does', () => expect(['set-cookie', 'etag', 'location'].every(passesToClient)).toBe(true))
})

it('headers that Connection names end with the connection, except length and type', () => {
  const raw = ['A', '1', 'B', '2', 'Content-Length', '3', 'Content-Type', 'x']
  const connection = ['Connection', 'close, a', 'CONNECTION', 'Content-Length, content-type']
  const passes = (name: string) => name.toLowerCase() !== 'connection'
  const passing = ['B', '2', 'Content-Length', '3', 'Content-Type', 'x']
  expect(passingHeaders([...raw, ...connection], passes)).toEqual(passing)
  const bytes = [...raw, ...connection].map((part) => Buffer.from(part, 'latin1'))
  expect(passingHeaders(bytes, passes)).toEqual(passing)
})

it('bytes that are no ASCII pass as they are', () => {
  expect(passingHeaders([Buffer.from('A'), Buffer.from([0xe9, 0xff])], () => true)).toEqual(['A', '\xe9\xff'])
})

it.each([...connection, ...disguises, 'expect', 'content-length', 'X_Payment_Tx', 'x-forwarded-for'])(
  '%s is none that a file may set',
  (name) => expect(isKeptHeader(name)).toBe(true),
)
it('Host and others are', () => expect(['host', 'authorization', 'x-org'].some(isKeptHeader)).toBe(false))

it('T178: no ticket and no session of this service goes to an upstream or comes from one', () => {
  const own = ['__Host-paystile_0123456789abcdef=r.s', 'paystile_0123456789abcdef=r.s', '__Host-paystile_session=t']
  const cookies = (...values: readonly string[]) => values.flatMap((value) => ['Cookie', value])
  const all = () => true
  expect(passingHeaders(cookies(`a=1; ${own.join('; ')}; b=paystile_x`), all)).toEqual(cookies('a=1; b=paystile_x'))
  expect(passingHeaders(cookies(own.join(';'), 'c=3'), all)).toEqual(cookies('c=3'))
  const set = ['set-cookie', `${own[0]}; Path=/; Secure`, 'Set-Cookie', 'd=4']
  expect(passingHeaders(set, passesToClient)).toEqual(['Set-Cookie', 'd=4'])
})

it('a payment in Authorization stays at the gateway, and other credentials pass where they are forwarded', () => {
  const passes = createFilter({ ...rules, forward: ['authorization'] })
  expect(passingHeaders(['Authorization', 'Payment eyJ9'], passes)).toEqual([])
  expect(passingHeaders(['AUTHORIZATION', ' payment\teyJ9'], passes)).toEqual([])
  expect(passingHeaders(['Authorization', 'Bearer payment x'], passes)).toEqual(['Authorization', 'Bearer payment x'])
})
