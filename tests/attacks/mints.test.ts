/** Tokens that are not on chain as they are configured: nothing is sold for them. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { token2022Program } from '../../src/core/network.ts'
import type { ProviderOptions } from '../../src/server/options.ts'
import { adapters, type Served } from '../harness/adapters.ts'
import { eventually, useTemporaryHome } from '../harness/shop.ts'
import { createWorld, newSigner, type World } from '../harness/world.ts'

const home = useTemporaryHome()
const serve = Object.fromEntries(adapters)['node:http'] ?? (() => Promise.reject(new Error('no adapter')))
const lines: string[] = []
const log = {
  info: () => {},
  warn: (event: string) => lines.push(event),
  error: (event: string, facts = {}) => lines.push(`${event} ${JSON.stringify(facts)}`),
}
let world: World
let nobody: KeyPairSigner

beforeAll(async () => {
  world = await createWorld()
  nobody = await newSigner()
})
afterAll(async () => {
  await world.close()
  home.remove()
})

const open = (options: Partial<ProviderOptions>): Promise<Served> =>
  serve(
    {
      price: 0.01,
      token: 'USDC',
      recipient: world.recipient.address,
      network: 'localnet',
      rpc: world.localnet.rpcUrl,
      ledger: 'memory:',
      log,
      ...options,
    },
    () => ({ body: 'the data' }),
  )

describe('a mint', () => {
  it.each<[string, () => NonNullable<ProviderOptions['mints']>, string]>([
    [
      'T51: with other decimals',
      () => ({ USDC: { address: world.usdc.address, decimals: 9 } }),
      'has 6 decimals and not 9',
    ],
    [
      'T74: of another chain',
      () => ({ USDC: { address: nobody.address, decimals: 6 } }),
      'does not exist on this chain',
    ],
    [
      'of another program',
      () => ({ USDC: { address: world.usdc.address, tokenProgram: token2022Program } }),
      'belongs to the program',
    ],
    ['that is a wallet', () => ({ USDC: world.recipient.address }), 'belongs to the program'],
  ])('%s is refused at start, and nothing is sold', async (_what, mints, words) => {
    const shop = await open({ mints: mints() })
    await expect(shop.ready()).rejects.toThrow(words)
    const response = await fetch(`${shop.url}/data`)
    expect([response.status, (await response.json()).code]).toEqual([503, 'chain_unavailable'])
    expect(lines.some((line) => line.includes(words))).toBe(true)
    await shop.close()
  })

  it('is not asked for where it is not accepted', async () => {
    const shop = await open({ token: 'SOL', price: 0.001, mints: { USDC: { address: nobody.address, decimals: 6 } } })
    await shop.ready()
    expect((await fetch(`${shop.url}/data`)).status).toBe(402)
    await shop.close()
  })

  it('is sold for while no node answers, and ready says that it is not known', async () => {
    world.localnet.faults.set([{ methods: ['getMultipleAccounts'], status: 503 }])
    const shop = await open({ service: 'waiting' })
    await expect(shop.ready()).rejects.toThrow('cannot be read yet')
    expect((await fetch(`${shop.url}/data`)).status).toBe(402)
    world.localnet.faults.clear()
    await shop.close()
    expect(await eventually(() => lines.includes('mints not checked yet'), Boolean)).toBe(true)
  })
})
