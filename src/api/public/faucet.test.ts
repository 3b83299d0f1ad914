import { describe, expect, it } from 'vitest'
import { createLimits } from '../../core/collections/limits.ts'
import { knownMints, type Network } from '../../core/money/tokens.ts'
import type { Gift } from '../../paywall/runtime/faucet-source.ts'
import { createFaucet, type FaucetParts } from './faucet.ts'

const address = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const other = '6r2kFDVUvhgXMh5VZqKpXyWB1HyiaJr1knnDYMfNpZbM'
const log = { info: () => {}, warn: () => {}, error: () => {} }

function open(options: Partial<FaucetParts> & { readonly gift?: Gift } = {}) {
  let now = 0
  const given: unknown[] = []
  const clock = { now: () => now, monotonic: () => now }
  const faucet = createFaucet({
    network: 'devnet',
    mints: knownMints.devnet,
    trustProxy: 0,
    limits: createLimits(clock),
    log,
    source: {
      kind: 'key',
      give: async (order) => {
        given.push(order)
        return options.gift ?? { kind: 'landed', tx: 'signature' }
      },
    },
    ...options,
  })
  const ask = (body: unknown = { address }, peer = '192.0.2.1', headers: Record<string, string> = {}) =>
    faucet(
      new Request('http://localhost/faucet', {
        method: 'POST',
        headers,
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
      { peer },
    )
  const pass = (seconds: number) => {
    now += seconds * 1000
  }
  return { faucet, ask, given, pass }
}
/** Addresses that nobody has, all different. */
const stranger = (index: number) =>
  `${address.slice(0, -3)}${'ABCDEFGHJKLMNPQRSTUVWXYZ'[index % 24]}${'123456789'[Math.floor(index / 24)]}C`

describe('a faucet with a key', () => {
  it('gives small fixed amounts of all tokens, or of the one asked for', async () => {
    const { ask, given } = open()
    const answer = await ask()
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.json()).toEqual({
      address,
      amounts: { SOL: '0.01', USDC: '10', NATIVE: '100' },
      signatures: ['signature'],
    })
    expect((await ask({ address, token: 'USDC', amount: '2.5' })).status).toBe(200)
    expect(given).toEqual([
      { recipient: address, units: { SOL: 10_000_000n, USDC: 10_000_000n, NATIVE: 100_000_000_000n } },
      { recipient: address, units: { USDC: 2_500_000n } },
    ])
  })

  it.each([
    ['more than the fixed amount', { address, token: 'SOL', amount: '0.02' }, 'at most 0.01 SOL at once'],
    ['an address that is none', { address: 'me' }, 'address must be a Solana address'],
    ['no address', {}, 'address must be a Solana address'],
    ['no JSON', 'address=me', 'the body is not JSON'],
    ['null', null, 'the body must be an object with an address'],
    ['a token that does not exist', { address, token: 'EUR' }, 'the faucet does not offer EUR'],
    ['a token that is no code', { address, token: 'eur' }, 'token must be a code such as SOL, USDC or NATIVE'],
    ['nothing of a token', { address, token: 'SOL', amount: '0' }, /above zero/],
    ['an amount of anything', { address, amount: '1' }, 'an amount needs a token'],
  ])('refuses %s in a sentence, and gives nothing', async (_name, body, words) => {
    const { ask, given } = open()
    const answer = await ask(body)
    expect(answer.status).toBe(400)
    expect((await answer.json()).error).toMatch(words)
    expect(given).toEqual([])
  })

  it('has nothing of a token without a mint', async () => {
    const { ask } = open({ mints: {} })
    expect((await (await ask()).json()).amounts).toEqual({ SOL: '0.01' })
    expect(await (await ask({ address, token: 'USDC' })).json()).toEqual({ error: 'the faucet does not offer USDC' })
  })

  it('takes POST only, and no long bodies', async () => {
    const { faucet, ask } = open()
    const answer = await faucet(new Request('http://localhost/faucet'), {})
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await ask('x'.repeat(3_000))).status).toBe(413)
  })

  it('T163: serves one recipient twice for any client, and again after a while', async () => {
    const { ask, pass } = open()
    for (const peer of ['192.0.2.1', '192.0.2.2']) expect((await ask({ address }, peer)).status).toBe(200)
    const refused = await ask({ address }, '192.0.2.3')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1800'])
    expect((await refused.json()).error).toBe('Faucet limit reached. Try again in 30 minutes.')
    expect((await ask({ address: other }, '192.0.2.3')).status).toBe(200)
    pass(1_800)
    expect((await ask({ address }, '192.0.2.3')).status).toBe(200)
  })

  it('T163: serves one client ten times, for any recipients and any forwarded addresses', async () => {
    const { ask, given } = open()
    const statuses: number[] = []
    for (let index = 0; index < 20; index += 1) {
      const answer = await ask({ address: stranger(index) }, '2001:db8::1', { 'x-forwarded-for': `10.0.0.${index}` })
      statuses.push(answer.status)
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(given).toHaveLength(10)
    // One customer has 2^64 addresses of IPv6.
    expect((await ask({ address: stranger(30) }, '2001:db8::2')).status).toBe(429)
    expect((await ask({ address: stranger(30) }, '2001:db8:0:1::1')).status).toBe(200)
  })

  it('goes by the address that the trusted proxies add', async () => {
    const { ask } = open({ trustProxy: 1 })
    const from = (client: string, index: number) =>
      ask({ address: stranger(index) }, '10.0.0.1', { 'x-forwarded-for': `6.6.6.6, ${client}` })
    for (let index = 0; index < 10; index += 1) expect((await from('192.0.2.1', index)).status).toBe(200)
    expect((await from('192.0.2.1', 11)).status).toBe(429)
    expect((await from('192.0.2.2', 12)).status).toBe(200)
  })

  it('T163: gives all together a hundred times, so that a crowd cannot empty it at once', async () => {
    const { ask, given, pass } = open()
    for (let index = 0; index < 120; index += 1) await ask({ address: stranger(index) }, `192.0.2.${index}`)
    expect(given).toHaveLength(100)
    pass(36)
    expect((await ask({ address: stranger(130) }, '192.0.2.200')).status).toBe(200)
  })

  it('counts nothing that could not be sent, and everything that was', async () => {
    const unsent = open({ gift: { kind: 'unavailable', why: 'no node answers', isSent: false } })
    for (let round = 0; round < 4; round += 1) {
      const answer = await unsent.ask()
      expect([answer.status, (await answer.json()).error]).toEqual([
        503,
        'The faucet cannot pay at the moment: no node answers.',
      ])
    }
    for (const gift of [
      { kind: 'unavailable', why: 'it was not confirmed in time', isSent: true },
      { kind: 'failed', why: 'the key holds too little SOL' },
    ] as const) {
      const { ask } = open({ gift })
      await ask()
      await ask()
      expect((await ask()).status).toBe(429)
    }
  })
})

describe('the faucet of a localnet', () => {
  it('is the faucet of the chain, and its response is passed on', async () => {
    const { ask } = open({
      network: 'localnet',
      source: { kind: 'localnet', forward: async (body) => ({ status: 418, text: body }) },
    })
    for (let round = 0; round < 20; round += 1) {
      const answer = await ask()
      expect([answer.status, await answer.json()]).toEqual([418, { address }])
    }
  })

  it.each([
    ['a JSON-RPC call', { jsonrpc: '2.0', id: 1, method: 'requestAirdrop', params: [address, 1] }],
    ['several of them', [{ jsonrpc: '2.0', id: 1, method: 'getSlot' }]],
    ['an address that is none', { address: '../x', jsonrpc: '2.0', method: 'getSlot' }],
    ['more than there is', { address, token: 'SOL', amount: '1001' }],
    ['no JSON', 'anything'],
  ])('T181: hands on nothing of %s', async (_name, body) => {
    const handed: string[] = []
    const forward = async (text: string) => {
      handed.push(text)
      return { status: 200, text: '{}' }
    }
    const { ask } = open({ network: 'localnet', source: { kind: 'localnet', forward } })
    expect((await ask(body)).status).toBe(400)
    expect(handed).toEqual([])
    const rest = { jsonrpc: '2.0', id: 1, method: 'setAccount', params: [] }
    await ask({ ...rest, address, token: 'SOL', amount: '2.5' })
    expect(handed.map((text) => JSON.parse(text))).toEqual([{ address, token: 'SOL', amount: '2.5' }])
  })

  it.each([
    ['does not answer', () => Promise.reject(new Error('reset'))],
    ['is of another chain', async () => undefined],
  ])('is not there while the node %s', async (_name, forward) => {
    const { ask } = open({ network: 'localnet', source: { kind: 'localnet', forward } })
    expect((await ask()).status).toBe(503)
  })
})

it.each([
  ['mainnet', 'with a key' as const],
  ['devnet', 'without one' as const],
] as [Network, 'with a key' | 'without one'][])('T163: there is none on %s %s', async (network, which) => {
  const { ask, given, faucet } = open({ network, ...(which === 'without one' && { source: undefined }) })
  expect((await ask()).status).toBe(404)
  expect((await faucet(new Request('http://localhost/faucet'), {})).status).toBe(404)
  expect(given).toEqual([])
})
