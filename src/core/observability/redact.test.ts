import { describe, expect, it } from 'vitest'
import type { Facts } from '../runtime.ts'
import { createRedact, redactLog } from './redact.ts'

const redact = createRedact()
const key = 'Zx9Kq2Lm8Vb4Nc7R'
const keyFile = JSON.stringify(Array.from({ length: 64 }, (_, index) => (index * 37) % 256))

describe('secrets', () => {
  it.each([
    ['a password of a database', `connect to postgres://shop:${key}@db.example.com:5432/shop failed`],
    ['a password with a slash and an at sign', `postgresql://shop:a/b@${key}@db.example.com/shop`],
    ['a password of a node', `https://user:${key}@rpc.example.com/`],
    ['a password of a node with a slash', `https://user:${key}/b@rpc.example.com/`],
    ['a key in the query of a node', `https://rpc.example.com/?api-key=${key} answered 401`],
    ['a key in the path of a node', `fetch https://sol.example.com/v2/${key} failed`],
    ['a key in the address of a WebSocket', `wss://rpc.example.com/${key}`],
    ['a key in a path alone', `GET /v2/getAsset?api-key=${key} 401`],
    ['a bearer token', `Authorization: Bearer ${key}`],
    ['a password of HTTP', `authorization: Basic ${btoa(`user:${key}`)}`],
    ["a proof's claim", `tx=5x; requestId=AQ; payer=9a; claim=${key}`],
    ["a proof's signature", `tx=5x; requestId=AQ; payer=9a; sig=${key}; ts=1`],
    ["a proof's payer", `tx=5x; requestId=AQ; payer=${key}`],
    ['the secret of a webhook', `secret whsec_${key}+/ab= is not base64`],
    ['a keyring', `PAYSTILE_SECRET is 1:${key}${key}${key},2:${key}${key}`],
    ['the root of a keyring', `root:${key}${key}`],
    ['a key in JSON', `{"secret":"${key}","more":1}`],
    ['a key in JSON in JSON', JSON.stringify(`{"password":"${key}"}`)],
  ])('%s is taken out', (_name, text) => {
    expect(redact(text)).not.toContain(key)
    expect(redact(text)).not.toContain(btoa(`user:${key}`))
  })

  it('a private key as it stands in a file is taken out, and so is half of one', () => {
    expect(redact(`key ${keyFile} is bad`)).toBe('key [redacted] is bad')
    expect(redact(`key ${keyFile.slice(0, 90)}`)).toBe('key [redacted]')
    expect(redact(`key ${keyFile.replaceAll(',', ', ')}`)).toBe('key [redacted]')
  })

  it('a named secret is removed in any form', () => {
    const told = createRedact({ secrets: ['correct horse battery', 'horse', 'correct horse'] })
    expect(told('the correct horse battery; a correct horse; a horse')).toBe('the [redacted]; a [redacted]; a horse')
  })

  it('a secret across the end of the scanned part is removed', () => {
    const words = 'words '.repeat(340)
    for (let more = 0; more < 40; more += 1) {
      const told = redact(`${words}${'x'.repeat(more)} postgres://shop:${key}@db.example.com/shop`)
      expect(told).not.toContain(key.slice(0, 3))
      expect(told).toContain(words)
    }
    expect(redact(`${key}${'x'.repeat(3_000)}`)).toBe('…')
  })
})

it.each([
  'the node did not respond in time (ECONNREFUSED)',
  'https://rpc.example.com answered 503',
  'ledger sqlite:./ledger.db is locked',
  'GET /api/weather?city=Bern',
  '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW',
  'at file:///srv/app/index.js:120:15',
  'at file:///srv/app/node_modules/@hono/node-server/dist/index.mjs:12:3',
  'token account of USDC, frozen',
  '1,000 of 2,000 at 12:30',
])('leaves %j as it is', (text) => {
  expect(redact(text)).toBe(text)
})

it('keeps the host of an address', () => {
  expect(redact(`https://sol.example.com:8899/v2/${key} and postgres://me:pw@db1,db2/shop`)).toBe(
    'https://sol.example.com:8899/… and postgres://[redacted]@db1,db2/shop',
  )
})

it('keeps secrets from a logger of the provider’s own, by value and by name', () => {
  const lines: [string, Facts | undefined][] = []
  const note = (event: string, facts?: Facts) => void lines.push([event, facts])
  const log = redactLog({ info: note, warn: note, error: note })
  log.info(`asked https://rpc.example.com/${key}`, { why: `Bearer ${key}`, apiKey: 'abc', units: 5 })
  log.error('plain')
  expect(lines).toEqual([
    ['asked https://rpc.example.com/…', { why: 'Bearer [redacted]', apiKey: '[redacted]', units: 5 }],
    ['plain', {}],
  ])
})

describe('secrets of an environment and of addresses', () => {
  const hide = createRedact({
    environment: {
      PAYSTILE_SECRET: '1:firstSecretOfAll,root:anotherOne',
      PAYSTILE_RPC: 'https://node.example/keyInThePath123?api-key=keyInTheQuery, https://user:passw%2Frd@two.example',
      PAYSTILE_LEDGER: 'postgres://shop:ledgerPassword@db.example/shopping',
      PAYSTILE_ACCOUNT_KEY: './keys/account.json',
      MY_API_TOKEN: 'tokenOfMine',
      SHOP_KEY_LIVE: 'keyOfTheShop',
      HOME: '/home/somebody',
      SHORT_KEY: 'abc',
    },
    secrets: ['Bearer upstreamKey'],
    addresses: ['http://127.0.0.1:8899', 'https://rates.example/v1/aKeyForRates00'],
  })

  it.each([
    ['a keyring', 'bad 1:firstSecretOfAll here', 'bad [redacted] here'],
    ['one of its secrets alone', 'anotherOne is short', '[redacted] is short'],
    ['a key in the path of a node', 'keyInThePath123 is unknown', '[redacted] is unknown'],
    ['the query of a node', 'the word keyInTheQuery', 'the word [redacted]'],
    ['a password, written and meant', 'passw%2Frd passw/rd', '[redacted] [redacted]'],
    ['the password of a database', 'connect ledgerPassword', 'connect [redacted]'],
    ['a variable with the name of a token', 'tokenOfMine', '[redacted]'],
    ['a variable with a key in its name', 'keyOfTheShop', '[redacted]'],
    ['a header for an upstream', 'sent Bearer upstreamKey', 'sent [redacted]'],
    ['a key for rates', 'aKeyForRates00 was refused', '[redacted] was refused'],
  ])('%s is taken out', (_name, text, shown) => {
    expect(hide(text)).toBe(shown)
  })

  it('paths of addresses are shown on request, without their secrets', () => {
    const environment = { PAYSTILE_RPC: 'https://node.example/keyInThePath123' }
    const shown = createRedact({ environment, showPaths: true })
    expect(shown('https://node.example/keyInThePath123 and http://me:you@there.example/health')).toBe(
      'https://node.example/[redacted] and http://[redacted]@there.example/health',
    )
  })

  it.each([
    'chmod 600 ./keys/account.json',
    'http://127.0.0.1:8899 does not answer',
    'postgres://db.example/shopping',
    '/srv/shop/paystile.yaml: abc',
  ])('%j stays as it is', (text) => {
    expect(hide(text)).toBe(text)
  })
})
