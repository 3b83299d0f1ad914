/** The test mode from end to end, on a local chain that plays devnet: own mints, faucet, sale. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPaystileRoutes } from '../../src/adapters/routes.ts'
import { createWallet, type Wallet } from '../../src/chain/keys/keypair.ts'
import { createRpc, type Rpc } from '../../src/chain/rpc/rpc.ts'
import { createMinter } from '../../src/chain/wallets/test-mints.ts'
import { checkStore } from '../../src/cli/doctor/store.ts'
import { fetchWith402, initAgentWallet } from '../../src/client/index.ts'
import { genesisHashes, type MintTable } from '../../src/core/money/tokens.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { readConfig } from '../../src/paywall/config/config.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { bend, createFace, type FakeNode } from '../harness/fake-node.ts'
import { openFaucet } from '../harness/faucet.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { serveNode } from '../harness/shop-fixture.ts'

const home = useTemporaryHome()
const directory = mkdtempSync(join(home.path, 'test-mode-'))
const genesis = genesisHashes.devnet as string
const clock = createWallClock()
const http = createHttpTransport()
const log = { info: () => {}, warn: () => {}, error: () => {} }
let world: LocalnetFixture
let node: FakeNode
let rpc: Rpc
let key: Wallet
let mints: MintTable

beforeAll(async () => {
  world = await createLocalnetFixture()
  node = await createFace(world.localnet.rpcUrl)
  node.behave(bend('getGenesisHash', () => genesis))
  rpc = createRpc({ urls: [node.url], transport: http.transport })
  const { path } = await initAgentWallet({ path: join(directory, 'faucet.json') })
  key = await createWallet(JSON.parse(readFileSync(path, 'utf8')))
  await world.localnet.fund(key.address, { SOL: 1_000_000_000n })
  const made = await createMinter({ rpc, clock, genesis }, key).createMints()
  if (!('mints' in made)) throw new Error(made.kind)
  mints = made.mints
})
afterAll(async () => {
  rpc.close()
  await http.close()
  await node.close()
  await world.close()
  home.remove()
})

it.each(['USDC', 'NATIVE', 'SOL'] as const)('a stranger gets %s from the faucet and pays with it', async (token) => {
  const recipient = (await newSigner()).address
  await world.localnet.fund(recipient, { SOL: 1_000_000n })
  const options: ProviderOptions = {
    price: token === 'SOL' ? 0.001 : 0.5,
    token,
    recipient,
    network: 'devnet',
    rpc: node.url,
    secret: `1:${'s'.repeat(32)}`,
    ledger: join(directory, `${token}.sqlite`),
    mints,
    log,
  }
  const shop = await serveNode(options, () => ({ body: 'the data' }))
  try {
    expect(await shop.ready()).toMatchObject({ offered: [token] })
    const wallet = await initAgentWallet({ path: join(directory, `${token}.json`) })
    const faucet = openFaucet({
      network: 'devnet',
      genesis,
      rpc,
      urls: [node.url],
      transport: http.transport,
      mints,
      faucetKey: join(directory, 'faucet.json'),
      clock,
    })
    const body = JSON.stringify({ address: wallet.address })
    const filled = await faucet(new Request('http://shop/faucet', { method: 'POST', body }), { peer: '192.0.2.1' })
    expect(filled.status).toBe(200)
    const client = { wallet, tokens: [token], rpc: node.url, mints }
    const answer = await fetchWith402(`${shop.url}/data`, client)
    expect([answer.status, await answer.text()]).toEqual([200, 'the data'])
  } finally {
    await shop.close()
  }
  const { findings } = await checkStore(readConfig(options, {}).service, genesis, undefined)
  expect(findings.map(({ level, finding }) => `${level} ${finding}`)[0]).toMatch(/^ok .* with 1 payment$/)
})

it('the addresses of a service tell of test mode, and give test money', async () => {
  const options = {
    network: 'devnet',
    rpc: node.url,
    secret: `1:${'s'.repeat(32)}`,
    ledger: join(directory, 'routes.sqlite'),
    mints,
    log,
  } as const
  const routes = createPaystileRoutes({ ...options, faucetKey: join(directory, 'faucet.json') })
  try {
    const wellKnown = await routes.fetch(new Request('http://shop/.well-known/paystile'))
    expect(await wellKnown.json()).toMatchObject({
      network: 'devnet',
      testMode: true,
      banner: expect.stringContaining('without value'),
    })
    const { address } = await newSigner()
    const order = () => new Request('http://shop/faucet', { method: 'POST', body: JSON.stringify({ address }) })
    const answer = await routes.fetch(order(), { peer: '192.0.2.1' })
    expect([answer.status, (await answer.json()).amounts]).toEqual([200, { SOL: '0.01', USDC: '10', NATIVE: '100' }])
    expect(world.localnet.getAccount(address)?.lamports).toBe(10_000_000n)
    const without = createPaystileRoutes(options)
    expect((await without.fetch(order())).status).toBe(404)
    await without.close()
  } finally {
    await routes.close()
  }
})

it('T163: those of mainnet do neither', async () => {
  node.behave(bend('getGenesisHash', () => genesisHashes.mainnet))
  const options = {
    rpc: node.url,
    secret: `1:${'s'.repeat(32)}`,
    ledger: join(directory, 'mainnet.sqlite'),
    publicUrl: 'https://shop.example',
    log,
  }
  expect(() => createPaystileRoutes({ ...options, faucetKey: 'faucet.json' })).toThrow('mainnet has no faucet')
  const routes = createPaystileRoutes(options)
  try {
    const wellKnown = await (await routes.fetch(new Request('http://shop/.well-known/paystile'))).json()
    expect([wellKnown.network, wellKnown.testMode, 'banner' in wellKnown]).toEqual(['mainnet', false, false])
    expect((await routes.fetch(new Request('http://shop/faucet', { method: 'POST', body: '{}' }))).status).toBe(404)
  } finally {
    await routes.close()
  }
})
