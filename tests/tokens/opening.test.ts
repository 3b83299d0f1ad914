/**
 * Accounts that a recipient lacks. The nodes here speak for mainnet, where no payer opens them, and are a localnet with
 * the real USDC mint planted into it.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createWallet } from '../../src/chain/keys/keypair.ts'
import { createRpc, type Rpc } from '../../src/chain/rpc/rpc.ts'
import { createOpener } from '../../src/chain/wallets/open-token-account.ts'
import { decodeAddress } from '../../src/core/encoding/base58.ts'
import { genesisHashes, knownMints, type Mint } from '../../src/core/money/tokens.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import type { Served } from '../harness/adapters.ts'
import { bend, createFace, type FakeNode } from '../harness/fake-node.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { createMint, extensions } from '../harness/mint.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { serveNode } from '../harness/shop-fixture.ts'

const home = useTemporaryHome()
const directory = mkdtempSync(join(home.path, 'opening-'))
const usdc = knownMints.mainnet.USDC as Mint
const lines: string[] = []
const note = (level: string) => (event: string, facts?: unknown) =>
  void lines.push(`${level} ${event} ${JSON.stringify(facts ?? {})}`)
const log = { info: note('info'), warn: note('warn'), error: note('error') }
const shops: Served[] = []
let world: LocalnetFixture
let node: FakeNode
let recipient: KeyPairSigner
/** The seed of a wallet with money. */
let seed: Uint8Array
let payer: string
let count = 0

beforeAll(async () => {
  world = await createLocalnetFixture()
  node = await createFace(world.localnet.rpcUrl)
  const model = world.localnet.getAccount(world.usdc.address)
  world.localnet.setAccount(usdc.address, model)
})
beforeEach(async () => {
  recipient = await newSigner()
  count += 1
  seed = new Uint8Array(32).fill(count)
  payer = (await createWallet(seed)).address
  await world.localnet.fund(payer, { SOL: 1_000_000_000n })
  node.behave(bend('getGenesisHash', () => genesisHashes.mainnet))
  node.asked.length = 0
  lines.length = 0
})
afterEach(async () => {
  for (const shop of shops.splice(0)) await shop.close()
})
afterAll(async () => {
  await node.close()
  await world.close()
  home.remove()
})

async function open(options: Partial<ProviderOptions> = {}): Promise<Served> {
  const shop = await serveNode(
    {
      price: 0.01,
      token: 'USDC',
      recipient: recipient.address,
      network: 'mainnet',
      rpc: node.url,
      ledger: join(directory, `${crypto.randomUUID()}.sqlite`),
      secret: `1:${'s'.repeat(32)}`,
      publicUrl: 'https://shop.example',
      watch: false,
      log,
      ...options,
    },
    () => ({ body: 'the data' }),
  )
  shops.push(shop)
  return shop
}
const ownerOf = async (mint: Mint) => {
  const data = world.localnet.getAccount(await world.tokenAccount(recipient.address, mint))?.data
  return (
    data &&
    (await world.rpc<{ value: unknown }>('getTokenAccountsByOwner', [
      recipient.address,
      { mint: mint.address },
      { encoding: 'base64', commitment: 'confirmed' },
    ]))
  )
}
const sent = () => node.asked.filter((method) => method === 'sendTransaction').length
const lamportsOf = (wallet: string) => world.localnet.getAccount(wallet)?.lamports ?? 0n
const keyFile = (mode = 0o600): string => {
  const path = join(directory, `${crypto.randomUUID()}.json`)
  const wallet = [...seed, ...(decodeAddress(payer) ?? [])]
  writeFileSync(path, JSON.stringify(wallet), { mode })
  return path
}

describe('without a key', () => {
  it('a missing account keeps a token from being offered on mainnet, and the way out is named', async () => {
    const shop = await open()
    await expect(shop.ready()).rejects.toThrow(
      `open it with spl-token create-account ${usdc.address} --owner ${recipient.address}, or give accountKey`,
    )
    expect((await fetch(`${shop.url}/data`)).status).toBe(503)
    expect(sent()).toBe(0)
  })

  it('and another token is offered in its place', async () => {
    await world.localnet.fund(recipient.address, { SOL: 890_880n })
    const shop = await open({ acceptedMints: ['USDC', 'SOL'], rates: { SOL: '150' } })
    expect(await shop.ready()).toEqual({ offered: ['SOL'], withheld: { USDC: expect.stringContaining('accountKey') } })
  })
})

describe('with a key', () => {
  it.each<[string, () => Promise<ProviderOptions['accountKey']> | ProviderOptions['accountKey']]>([
    ['in a file', () => keyFile()],
    ['of 64 bytes', () => Uint8Array.from([...seed, ...(decodeAddress(payer) ?? [])])],
    ['of plain numbers', () => [...seed, ...(decodeAddress(payer) ?? [])]],
    ['in a wallet', () => createWallet(seed)],
  ])('%s the account is opened once, at its cost, and the token is offered', async (_what, make) => {
    const before = lamportsOf(payer)
    const accountKey = await make()
    const shop = await open({ ...(accountKey !== undefined && { accountKey }) })
    expect(await shop.ready()).toEqual({ offered: ['USDC'], withheld: {} })
    expect(await ownerOf(usdc)).toMatchObject({ value: [expect.anything()] })
    // The rent of one account, a signature and a little for its priority, and nothing else.
    expect(before - lamportsOf(payer)).toBeGreaterThan(2_039_280n)
    expect(before - lamportsOf(payer)).toBeLessThan(2_039_280n + 10_000n)
    expect(sent()).toBe(1)
    expect(lines).toEqual([expect.stringMatching(/^info token_account.opened .*"USDC"/)])
    const again = await open({ ...(accountKey !== undefined && { accountKey }) })
    await again.ready()
    expect(sent()).toBe(1)
  })

  it('a kit signer opens it, too', async () => {
    const signer = await newSigner()
    await world.localnet.fund(signer.address, { SOL: 1_000_000_000n })
    expect((await (await open({ accountKey: signer })).ready()).offered).toEqual(['USDC'])
  })

  it('two servers at once open one account', async () => {
    const shops = await Promise.all([open({ accountKey: keyFile() }), open({ accountKey: keyFile() })])
    for (const { offered } of await Promise.all(shops.map((shop) => shop.ready()))) expect(offered).toEqual(['USDC'])
    expect(lines.filter((line) => line.startsWith('error'))).toEqual([])
  })

  it('routes of one server share one attempt', async () => {
    const shared = { accountKey: keyFile(), ledger: join(directory, 'shared.sqlite') }
    const shops = await Promise.all(['a', 'b', 'c'].map((scope) => open({ ...shared, scope })))
    for (const { offered } of await Promise.all(shops.map((shop) => shop.ready()))) expect(offered).toEqual(['USDC'])
    expect(sent()).toBe(1)
  })

  it('an account of Token-2022 is opened with the room that its mint wants', async () => {
    const issuer = await world.person()
    const native = await createMint(world, issuer, { extensions: [extensions.transferFee(100, issuer.address)] })
    const shop = await open({ token: 'NATIVE', mints: { NATIVE: native }, accountKey: keyFile() })
    expect((await shop.ready()).offered).toEqual(['NATIVE'])
    expect(await ownerOf(native)).toMatchObject({ value: [expect.anything()] })
  })

  it('nothing is opened for a mint that is refused', async () => {
    const issuer = await world.person()
    const native = await createMint(world, issuer, { extensions: [extensions.permanentDelegate(issuer.address)] })
    const shop = await open({ token: 'NATIVE', mints: { NATIVE: native }, accountKey: keyFile() })
    await expect(shop.ready()).rejects.toThrow('permanent delegate')
    expect(sent()).toBe(0)
  })

  it.each<[string, () => ProviderOptions['accountKey'], RegExp]>([
    ['without money', () => new Uint8Array(32).fill(250), /does \w+ hold SOL\?/],
    ['in no file', () => join(directory, 'missing.json'), /it does not exist/],
    ['that others can read', () => keyFile(0o644), /other users can read it; run chmod 600/],
    ['of two halves that do not fit', () => new Uint8Array(64).fill(3), /does not belong/],
  ])('%s nothing is offered, the log says why, and health checks see no path', async (_what, make, why) => {
    const accountKey = make()
    const shop = await open({ ...(accountKey !== undefined && { accountKey }) })
    await expect(shop.ready()).rejects.toThrow('if that fails, see the log')
    expect(lines.find((line) => line.startsWith('error token_account.open_failed'))).toMatch(why)
    expect(JSON.stringify(await shop.readiness())).not.toContain(directory)
  })
})

describe('the opener', () => {
  let rpc: Rpc
  let now = 0
  const http = createHttpTransport()
  const clock = { ...createWallClock(), monotonic: () => now }
  const genesis = () => world.localnet.genesisHash
  const order = () => ({ recipient: recipient.address, mint: usdc, wallet: () => createWallet(seed) })
  beforeEach(() => {
    rpc = createRpc({ urls: [world.localnet.rpcUrl], transport: http.transport })
  })
  afterAll(() => http.close())

  it('tries again after five minutes, and not before', async () => {
    seed = new Uint8Array(32).fill(251)
    const opener = createOpener({ rpc, clock, genesis: genesis() })
    expect(await opener.open(order())).toMatchObject({ kind: 'failed' })
    now += 299_999
    expect(await opener.open(order())).toEqual({ kind: 'resting' })
    now += 1
    expect(await opener.open(order())).toMatchObject({ kind: 'failed' })
    await world.localnet.fund((await createWallet(seed)).address, { SOL: 1_000_000_000n })
    now += 300_000
    expect(await opener.open(order())).toMatchObject({ kind: 'opened' })
  })

  it('makes one attempt for parallel calls, and one for each account', async () => {
    const opener = createOpener({ rpc, clock, genesis: genesis() })
    const [one, two] = await Promise.all([opener.open(order()), opener.open(order())])
    expect(one).toEqual(two)
    expect(await opener.open(order())).toEqual({ kind: 'resting' })
    expect(await opener.open({ ...order(), recipient: (await newSigner()).address })).toMatchObject({ kind: 'opened' })
  })

  it('waits for nothing once it is stopped', async () => {
    world.localnet.faults.set([{ methods: ['sendTransaction'], lose: true }])
    const opener = createOpener({ rpc, clock: createWallClock(), genesis: genesis() })
    opener.stop()
    expect(await opener.open(order())).toEqual({ kind: 'failed', why: 'it was not confirmed in time' })
    world.localnet.faults.clear()
  })
})
