/** Unmodified MPP clients pay all parts of a split price. x402 has no splits, so it is offered only through a collector. */
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/kit'
import { Challenge, Credential } from 'mppx'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { adapters, type Serve } from '../harness/adapters.ts'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'
import { codeOf, openShop, type Shop, useTemporaryHome } from '../harness/shop.ts'
import { payWithMppx } from './clients.ts'

const home = useTemporaryHome()
const serve = adapters.find(([name]) => name === 'node:http')?.[1] as Serve
let world: LocalnetFixture
/** Without SOL: the service pays the fees. */
let poor: KeyPairSigner
let rich: KeyPairSigner
let [partner, author]: string[] = []
const shops: Shop[] = []

beforeAll(async () => {
  world = await createLocalnetFixture()
  ;[poor, rich] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()])
  await world.localnet.fund(poor.address, { USDC: 100_000_000n })
  await world.localnet.fund(rich.address, { SOL: 10_000_000_000n, USDC: 100_000_000n })
  for (const { address } of await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()])) {
    await world.localnet.fund(address, { SOL: 10_000_000n, USDC: 0n })
    ;[partner, author] = [address, partner]
  }
})
afterAll(async () => {
  for (const shop of shops) await shop.close()
  await world.close()
  home.remove()
})

async function open(options: Partial<ProviderOptions>): Promise<Shop> {
  const shop = await openShop(world, serve, () => ({ body: 'the secret' }), {
    splits: [
      { recipient: partner ?? '', share: 10 },
      { recipient: author ?? '', share: 5 },
    ],
    ...options,
  })
  shops.push(shop)
  return shop
}

const sponsored = { sponsor: { minMargin: 0 } } as const

async function readUnits(wallet: string, token: 'USDC' | 'SOL'): Promise<bigint> {
  if (token === 'SOL') {
    const { value } = await world.rpc<{ value: number }>('getBalance', [wallet, { commitment: 'confirmed' }])
    return BigInt(value)
  }
  const account = await world.tokenAccount(wallet, world.usdc)
  const config = { commitment: 'confirmed' }
  const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [account, config])
  return BigInt(value.amount)
}

describe('an unmodified client of MPP', () => {
  const inSol = { token: 'SOL', price: '0.01', mpp: true } as const
  it.each([
    ['whose fee the service pays', sponsored, 'pull', 'USDC', [8_500n, 1_000n, 500n]],
    ['that pays the fee', { mpp: true }, 'pull', 'USDC', [8_500n, 1_000n, 500n]],
    ['that pays in SOL', inSol, 'pull', 'SOL', [8_500_000n, 1_000_000n, 500_000n]],
    ['that sends its transaction', { mpp: { push: true } }, 'push', 'USDC', [8_500n, 1_000n, 500n]],
  ] as const)('%s pays every wallet its part', async (_name, options, mode, token, expected) => {
    const shop = await open(options)
    const wallets = [world.recipient.address, partner ?? '', author ?? '']
    const before = await Promise.all(wallets.map((wallet) => readUnits(wallet, token)))
    const signer = 'sponsor' in options ? poor : rich
    const payer = { rpcUrl: world.localnet.rpcUrl, signer, mode }
    const { response, credentials } = await payWithMppx(`${shop.url}/data`, payer)
    expect([response.status, await response.text()]).toEqual([200, 'the secret'])
    expect(credentials).toHaveLength(1)
    expect(parseReceipt(response.headers.get('payment-receipt') ?? '')).toMatchObject({ amount: '0.01', token })
    const after = await Promise.all(wallets.map((wallet) => readUnits(wallet, token)))
    expect(after.map((units, index) => units - (before[index] ?? 0n))).toEqual(expected)
  })
})

it('offers x402 in neither version without a collector', async () => {
  const shop = await open({ ...sponsored, x402: { v1: true } })
  const response = await fetch(`${shop.url}/data`)
  expect(response.headers.get('www-authenticate')).toContain('method="solana"')
  expect(response.headers.has('payment-required')).toBe(false)
  expect(await response.json()).not.toHaveProperty('x402Version')
})

it('sells to paystile’s own client over MPP, too', async () => {
  const shop = await open(sponsored)
  const options = { wallet: rich, rpc: world.localnet.rpcUrl, journal: createMemoryJournal() }
  const response = await fetchWith402(`${shop.url}/data`, { ...options, protocols: ['mpp'], network: 'localnet' })
  expect([response.status, await response.text()]).toEqual([200, 'the secret'])
})

it('T184: refuses a payer who receives a part, before any money moves', async () => {
  const signer = await generateKeyPairSigner()
  await world.localnet.fund(signer.address, { USDC: 1_000_000n })
  const shop = await open({ ...sponsored, splits: [{ recipient: signer.address, share: 10 }] })
  const { response } = await payWithMppx(`${shop.url}/data`, { rpcUrl: world.localnet.rpcUrl, signer })
  expect(await codeOf(response)).toBe('402 self_payment')
  expect(await readUnits(signer.address, 'USDC')).toBe(1_000_000n)
})

describe('T184: a client that changes the splits of its challenge', () => {
  interface ChargeRequest {
    amount: string
    recipient: string
    methodDetails: { splits?: readonly { recipient: string; amount: string }[] }
  }
  /** Pays the challenge after `change`, and echoes it changed or as it was. */
  async function payChanged(change: (request: ChargeRequest) => void, isEchoed: boolean): Promise<Response> {
    const shop = await open(sponsored)
    let original = ''
    const tamper: typeof fetch = async (target, init) => {
      const response = await fetch(target, init)
      const header = response.headers.get('www-authenticate')
      if (response.status !== 402 || header === null) return response
      const challenge = Challenge.deserialize(header)
      original = header
      const request = structuredClone(challenge.request) as unknown as ChargeRequest
      change(request)
      const changed = Challenge.serialize({ ...challenge, request: request as never })
      return new Response(null, { status: 402, headers: { 'www-authenticate': changed } })
    }
    const restore: typeof fetch = async (target, init) => {
      const headers = new Headers(init?.headers)
      const credential = headers.get('authorization')
      if (isEchoed || credential === null) return tamper(target, init)
      const { payload } = Credential.deserialize(credential)
      headers.set('authorization', Credential.serialize({ challenge: Challenge.deserialize(original), payload }))
      return fetch(target, { ...init, headers })
    }
    const payer = { rpcUrl: world.localnet.rpcUrl, signer: poor, fetch: restore }
    return (await payWithMppx(`${shop.url}/data`, payer)).response
  }
  const changes: readonly (readonly [string, string, (request: ChargeRequest) => void])[] = [
    [
      'leaves them out',
      '402 transaction_invalid',
      ({ methodDetails }) => {
        delete methodDetails.splits
      },
    ],
    [
      'leaves one of them out',
      '402 transaction_invalid',
      ({ methodDetails }) => {
        methodDetails.splits = methodDetails.splits?.slice(0, 1) ?? []
      },
    ],
    [
      'pays one twice and another not at all',
      '402 underpaid',
      ({ methodDetails }) => {
        const [first] = methodDetails.splits ?? []
        methodDetails.splits = first ? [first, first] : []
      },
    ],
    [
      'exchanges their wallets',
      '402 underpaid',
      ({ methodDetails }) => {
        const [first, second] = methodDetails.splits ?? []
        methodDetails.splits =
          first && second
            ? [
                { ...first, recipient: second.recipient },
                { ...second, recipient: first.recipient },
              ]
            : []
      },
    ],
    [
      'sends a part to itself',
      '402 wrong_destination',
      ({ methodDetails }) => {
        methodDetails.splits = (methodDetails.splits ?? []).map((split, index) =>
          index === 0 ? { ...split, recipient: poor.address } : split,
        )
      },
    ],
    [
      'sends less than a part',
      '402 underpaid',
      ({ methodDetails }) => {
        methodDetails.splits = (methodDetails.splits ?? []).map((split) => ({ ...split, amount: '1' }))
      },
    ],
  ]
  it.each(changes.flatMap((row) => [[...row, true] as const, [...row, false] as const]))(
    '%s is refused with %s',
    async (_name, code, change, isEchoed) => {
      const before = await readUnits(poor.address, 'USDC')
      expect(await codeOf(await payChanged(change, isEchoed))).toBe(code)
      expect(await readUnits(poor.address, 'USDC')).toBe(before)
    },
  )
})
