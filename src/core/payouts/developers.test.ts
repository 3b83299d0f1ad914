import { describe, expect, it } from 'vitest'
import {
  developerDocumentUrl,
  findVerification,
  formatDeveloperText,
  readDeveloperDocument,
  readDeveloperHost,
} from './developers.ts'

const wallet = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const facts = {
  purpose: 'register',
  host: 'api.example.com',
  wallet,
  origin: 'https://pay.example:8402',
  genesis: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
  issuedAt: Date.UTC(2026, 0, 31, 12),
} as const

describe('formatDeveloperText', () => {
  it('contains the purpose, the wallet, the host, the service and the time', () => {
    expect(formatDeveloperText(facts)).toBe(`pay.example:8402 wants you to sign with your Solana account:
${wallet}

paystile: I own this host and want its rewards paid to this wallet. This signs no transaction and moves no money.

Host: api.example.com
URI: https://pay.example:8402
Version: 1
Chain ID: solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG
Issued At: 2026-01-31T12:00:00.000Z`)
  })

  it('is another text for every fact that differs', () => {
    const others = [
      { purpose: 'revoke' },
      { host: 'api.example.org' },
      { wallet: facts.genesis },
      { origin: 'https://pay.example' },
      { genesis: wallet },
      { issuedAt: facts.issuedAt + 1 },
    ] as const
    const texts = [{}, ...others].map((other) => formatDeveloperText({ ...facts, ...other }))
    expect(new Set(texts).size).toBe(texts.length)
  })
})

describe('readDeveloperDocument', () => {
  const entry = { wallet, service: 'https://pay.example' }

  it('reads one entry, or a list', () => {
    expect(readDeveloperDocument(JSON.stringify(entry))).toEqual([entry])
    expect(readDeveloperDocument(JSON.stringify([entry, { ...entry, service: 'weather' }]))).toHaveLength(2)
    expect(readDeveloperDocument('[]')).toEqual([])
  })

  it.each([
    '',
    'null',
    '"text"',
    '{',
    '{}',
    '<!doctype html>',
    JSON.stringify({ wallet }),
    JSON.stringify({ service: 'x' }),
    JSON.stringify({ wallet: 'x', service: 'x' }),
    JSON.stringify({ wallet: [wallet], service: 'x' }),
    JSON.stringify([{ wallet, service: 'x' }, null]),
    JSON.stringify([[{ wallet, service: 'x' }]]),
    JSON.stringify(Array.from({ length: 101 }, () => ({ wallet, service: 'x' }))),
  ])('does not read %j', (text) => {
    expect(readDeveloperDocument(text)).toBeUndefined()
  })
})

describe('developerDocumentUrl', () => {
  it.each([
    ['api.example.com', 'localnet', 'https://api.example.com/'],
    ['api.example.com:8443', 'mainnet', 'https://api.example.com:8443/'],
    ['127.0.0.1:3000', 'localnet', 'http://127.0.0.1:3000/'],
    ['localhost:3000', 'devnet', 'http://localhost:3000/'],
    ['[::1]:3000', 'devnet', 'http://[::1]:3000/'],
    ['127.0.0.1:3000', 'mainnet', 'https://127.0.0.1:3000/'],
    ['localhost', 'mainnet', 'https://localhost/'],
    ['10.0.0.5:3000', 'localnet', 'https://10.0.0.5:3000/'],
    ['localhost.example.com', 'localnet', 'https://localhost.example.com/'],
  ] as const)('of %s on %s begins with %s', (host, network, beginning) => {
    expect(developerDocumentUrl(host, network)).toBe(`${beginning}.well-known/paystile-developer.json`)
  })
})

describe('developerHostOf', () => {
  it.each([
    ['https://API.Example.com/v1?x#y', 'api.example.com'],
    ['https://api.example.com:443', 'api.example.com'],
    ['http://api.example.com:80/', 'api.example.com'],
    ['http://127.0.0.1:3000', '127.0.0.1:3000'],
    ['https://api.example.com./', 'api.example.com'],
    ['https://bücher.example', 'xn--bcher-kva.example'],
    ['http://[::1]:3000/', '[::1]:3000'],
    ['https://0x7f.1/', '127.0.0.1'],
    ['https://user:word@api.example.com', undefined],
    ['ftp://api.example.com', undefined],
    ['api.example.com', undefined],
    ['https://./', undefined],
  ])('of %s is %s', (url, host) => {
    expect(readDeveloperHost(url)).toBe(host)
  })
})

it('verificationAt finds a verification from its first moment until before its last', () => {
  const one = { host: 'a', wallet, from: 10, until: 20, isRevoked: false }
  const next = { ...one, wallet: 'b', from: 20, until: 30 }
  const at = (time: number) => findVerification([one, next], time)?.wallet
  expect([9, 10, 19, 20, 29, 30].map(at)).toEqual([undefined, wallet, wallet, 'b', 'b', undefined])
  expect(findVerification([], 1)).toBeUndefined()
})
