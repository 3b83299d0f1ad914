import { describe, expect, it } from 'vitest'
import type { Network } from '../../core/money/tokens.ts'
import { createAccess, isLocalVisit, mayRead, turnAway } from './access.ts'

const owner = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'
const here = { peer: '127.0.0.1', isLoopback: true }
const away = { peer: '203.0.113.9', isLoopback: false }

function ask(headers: Readonly<Record<string, string>> = {}): Request {
  return new Request('http://localhost:3000/analytics', { headers: { host: 'localhost:3000', ...headers } })
}

function accessOn(network: Network, wallet?: string) {
  const sessionOf = async () => (wallet === undefined ? undefined : { wallet })
  return createAccess({ network, owners: () => [owner], sessionOf })
}

describe('T136: access to the revenue of a service', () => {
  it('is allowed for a signed-in owner, from any address and on every network', async () => {
    for (const network of ['mainnet', 'devnet', 'localnet'] as const)
      expect(await accessOn(network, owner)(ask(), away)).toEqual({ kind: 'owner', wallet: owner })
  })

  it('is refused for any other signed-in wallet', async () => {
    const other = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'
    const access = await accessOn('devnet', other)(ask(), away)
    expect(access).toEqual({ kind: 'stranger', wallet: other })
    expect(turnAway(access).status).toBe(403)
  })

  it('a person at the machine itself, on test networks only', async () => {
    expect(await accessOn('localnet')(ask(), here)).toEqual({ kind: 'open' })
    expect(await accessOn('devnet')(ask(), here)).toEqual({ kind: 'open' })
    const access = await accessOn('mainnet')(ask(), here)
    expect(mayRead(access)).toBe(false)
    const told = turnAway(access)
    expect([told.status, told.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(await told.text()).toContain('/sign-in/nonce')
  })

  it('is refused for local clients if the service has a public name, because a proxy may hide the real client', async () => {
    const accessAt = (publicUrl: string) =>
      createAccess({ network: 'devnet', owners: () => [owner], sessionOf: undefined, publicUrl })
    expect(mayRead(await accessAt('https://shop.example')(ask(), here))).toBe(false)
    for (const url of ['http://localhost:8402', 'http://127.0.0.1/shop', 'http://[::1]:1'])
      expect(mayRead(await accessAt(url)(ask(), here))).toBe(true)
  })

  it.each(['localhost', 'LOCALHOST:80', '127.0.0.1:3000', '[::1]', '[::1]:8080'])(
    'takes %s for this machine',
    (host) => {
      expect(isLocalVisit(ask({ host }), here)).toBe(true)
    },
  )

  it.each([
    'evil.example',
    'localhost.evil.example',
    'localhost:3000.evil.example',
    '127.0.0.1.nip.io',
    '127.0.0.2',
    '0.0.0.0:3000',
    'localhost@evil.example',
    '',
  ])('DNS rebinding: does not take the name %s for it', (host) => {
    expect(isLocalVisit(ask({ host }), here)).toBe(false)
  })

  it.each([
    ['forwarded', 'for=203.0.113.9'],
    ['x-forwarded-for', '127.0.0.1'],
    ['x-forwarded-host', 'localhost'],
    ['X-Forwarded-Proto', 'https'],
    ['via', '1.1 proxy'],
    ['x-real-ip', '127.0.0.1'],
    ['cf-connecting-ip', '127.0.0.1'],
  ])('a local proxy: %s closes it', (name, value) => {
    expect(isLocalVisit(ask({ [name]: value }), here)).toBe(false)
  })

  it('does not take a page of another origin for the person in front of it', () => {
    expect(isLocalVisit(ask({ origin: 'https://evil.example' }), here)).toBe(false)
    expect(isLocalVisit(ask({ origin: 'null' }), here)).toBe(false)
    expect(isLocalVisit(ask({ 'sec-fetch-site': 'cross-site' }), here)).toBe(false)
    expect(isLocalVisit(ask({ origin: 'http://localhost:3000' }), here)).toBe(true)
  })

  it('believes the connection and not the request', () => {
    expect(isLocalVisit(ask(), away)).toBe(false)
    expect(isLocalVisit(ask(), { peer: '127.0.0.1', isLoopback: false })).toBe(false)
  })

  it('reads the owners again for every request', async () => {
    const owners: string[] = []
    const access = createAccess({
      network: 'mainnet',
      owners: () => owners,
      sessionOf: async () => ({ wallet: owner }),
    })
    expect(mayRead(await access(ask(), away))).toBe(false)
    owners.push(owner)
    expect(mayRead(await access(ask(), away))).toBe(true)
  })
})
