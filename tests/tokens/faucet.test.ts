/** Test money by a key. The chain here is a localnet that plays the development network: its genesis hash is passed in. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createWallet } from '../../src/chain/keys/keypair.ts'
import { createRpc, type Rpc } from '../../src/chain/rpc/rpc.ts'
import { createMinter } from '../../src/chain/wallets/test-mints.ts'
import type { FaucetSettings } from '../../src/compose/faucet.ts'
import { decodeAddress } from '../../src/core/encoding/base58.ts'
import { genesisHashes, knownMints, type Mint, type MintTable } from '../../src/core/money/tokens.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { bend, createFace, type FakeNode } from '../harness/fake-node.ts'
import { openFaucet } from '../harness/faucet.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { useTemporaryHome } from '../harness/shop.ts'

const home = useTemporaryHome()
const directory = mkdtempSync(join(home.path, 'faucet-'))
const clock = createWallClock()
const http = createHttpTransport()
const genesis = genesisHashes.devnet as string
const seed = new Uint8Array(32).fill(7)
let world: LocalnetFixture
/** Says that it is of devnet. */
let node: FakeNode
let rpc: Rpc
let keyFile: string
let key: string
let mints: MintTable

beforeAll(async () => {
  world = await createLocalnetFixture()
  node = await createFace(world.localnet.rpcUrl)
  rpc = createRpc({ urls: [node.url], transport: http.transport })
  const wallet = await createWallet(seed)
  key = wallet.address
  keyFile = join(directory, 'faucet.json')
  writeFileSync(keyFile, JSON.stringify([...seed, ...(decodeAddress(key) ?? [])]), { mode: 0o600 })
  await world.localnet.fund(key, { SOL: 1_000_000_000n })
  playDevnet()
  const made = await createMinter({ rpc, clock, genesis }, wallet).createMints()
  if (!('mints' in made)) throw new Error(made.kind)
  mints = made.mints
})
beforeEach(() => {
  playDevnet()
  node.asked.length = 0
})
afterAll(async () => {
  rpc.close()
  await http.close()
  await node.close()
  await world.close()
  home.remove()
})

const playDevnet = () => node.behave(bend('getGenesisHash', () => genesis))
const sent = () => node.asked.filter((method) => method === 'sendTransaction').length
const settings = (more: Partial<FaucetSettings> = {}): FaucetSettings => ({
  network: 'devnet',
  genesis,
  rpc,
  urls: [node.url],
  transport: http.transport,
  mints,
  faucetKey: keyFile,
  clock,
  ...more,
})
const ask = async (faucet: ReturnType<typeof openFaucet>, body: unknown) => {
  const request = new Request('http://localhost/faucet', { method: 'POST', body: JSON.stringify(body) })
  const answer = await faucet(request, { peer: '192.0.2.1' })
  return { status: answer.status, body: await answer.json() }
}
const balance = async (owner: string, mint: Mint | undefined) => {
  const account = await world.tokenAccount(owner, mint as Mint)
  const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [
    account,
    { commitment: 'confirmed' },
  ])
  return value.amount
}

describe('a key’s own mints', () => {
  it('have the same addresses every time, and are made once', async () => {
    const minter = createMinter({ rpc, clock, genesis }, await createWallet(seed))
    expect(await minter.createMints()).toEqual({ mints, made: [] })
    expect(sent()).toBe(0)
    expect(mints.USDC?.address).not.toBe(knownMints.devnet.USDC?.address)
    expect([mints.USDC?.decimals, mints.NATIVE?.decimals]).toEqual([6, 9])
  })

  it('cannot be made by a key without SOL, which is said', async () => {
    const poor = await createWallet(new Uint8Array(32).fill(9))
    expect(await createMinter({ rpc, clock, genesis }, poor).createMints()).toEqual({
      kind: 'failed',
      why: `${poor.address} holds too little SOL`,
    })
  })
})

describe('the faucet of devnet', () => {
  it('gives SOL, USDC and NATIVE to a wallet that has nothing, in one transaction', async () => {
    const faucet = openFaucet(settings())
    const { address } = await newSigner()
    const answer = await ask(faucet, { address })
    expect(answer).toMatchObject({
      status: 200,
      body: { address, amounts: { SOL: '0.01', USDC: '10', NATIVE: '100' } },
    })
    expect(answer.body.signatures).toHaveLength(1)
    expect(world.localnet.getAccount(address)?.lamports).toBe(10_000_000n)
    expect(await balance(address, mints.USDC)).toBe('10000000')
    expect(await balance(address, mints.NATIVE)).toBe('100000000000')
  })

  it('gives twice where two ask for the same at the same time', async () => {
    const faucet = openFaucet(settings())
    const { address } = await newSigner()
    const answers = await Promise.all([ask(faucet, { address }), ask(faucet, { address })])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await balance(address, mints.USDC)).toBe('20000000')
  })

  it('says that the mints are not the key’s', async () => {
    const faucet = openFaucet(settings({ mints: world.localnet.mints }))
    const { address } = await newSigner()
    const { status, body } = await ask(faucet, { address, token: 'USDC' })
    expect([status, body.error]).toEqual([502, expect.stringContaining(`${key} is not the mint authority`)])
  })

  it.each([
    ['mainnet', () => genesisHashes.mainnet],
    ['a chain that nobody knows', () => '9'.repeat(44)],
    ['no chain at all', () => null],
  ])('T163: sends nothing where the node speaks for %s, also if it spoke for devnet before', async (_name, named) => {
    const faucet = openFaucet(settings())
    const { address } = await newSigner()
    node.behave(bend('getGenesisHash', named))
    expect((await ask(faucet, { address })).status).toBe(503)
    expect(sent()).toBe(0)
    playDevnet()
    expect((await ask(faucet, { address })).status).toBe(200)
  })

  it('T163: sends nothing where the node turns to mainnet between the block and the transaction', async () => {
    const faucet = openFaucet(settings())
    node.behave(
      bend('getGenesisHash', () => (node.asked.includes('getLatestBlockhash') ? genesisHashes.mainnet : genesis)),
    )
    expect((await ask(faucet, { address: (await newSigner()).address })).status).toBe(503)
    expect(node.asked).toContain('getLatestBlockhash')
    expect(sent()).toBe(0)
  })

  it('T163: sends nothing while one of two nodes speaks for another chain', async () => {
    const both = createRpc({ urls: [node.url, world.localnet.rpcUrl], transport: http.transport })
    const faucet = openFaucet(settings({ rpc: both }))
    expect((await ask(faucet, { address: (await newSigner()).address })).status).toBe(503)
    expect(sent()).toBe(0)
    both.close()
  })
})

describe('a key', () => {
  it('T163: is refused on mainnet, whichever way that is said', async () => {
    expect(() => openFaucet(settings({ network: 'mainnet' }))).toThrow('mainnet has no faucet')
    expect(() => openFaucet(settings({ genesis: genesisHashes.mainnet as string }))).toThrow('mainnet')
    const wallet = await createWallet(seed)
    expect(() => createMinter({ rpc, clock, genesis: genesisHashes.mainnet as string }, wallet)).toThrow('mainnet')
  })

  it('that cannot be read is named by its option, and one that is none when it is to sign', async () => {
    const missing = join(directory, 'missing.json')
    expect(() => openFaucet(settings({ faucetKey: missing }))).toThrow(`faucetKey: The key file ${missing}`)
    const faucet = openFaucet(settings({ faucetKey: new Uint8Array(12) }))
    const { status, body } = await ask(faucet, { address: (await newSigner()).address })
    expect([status, body.error]).toEqual([502, expect.stringContaining('a key has 64 bytes')])
  })
})

describe('the faucet of a localnet', () => {
  const local = (more: Partial<FaucetSettings> = {}) => {
    const { rpcUrl, genesisHash } = world.localnet
    const own = createRpc({ urls: [rpcUrl], transport: http.transport })
    return openFaucet(
      settings({ network: 'localnet', genesis: genesisHash, rpc: own, urls: [rpcUrl], faucetKey: undefined, ...more }),
    )
  }

  it('is the chain’s own', async () => {
    const { address } = await newSigner()
    const answer = await ask(local(), { address, token: 'SOL', amount: '3' })
    expect(answer).toMatchObject({ status: 200, body: { amounts: { SOL: '3' } } })
    expect(world.localnet.getAccount(address)?.lamports).toBe(3_000_000_000n)
  })

  it('T163: is not asked where the node names another chain', async () => {
    const faucet = local({ rpc, urls: [node.url] })
    expect((await ask(faucet, { address: (await newSigner()).address })).status).toBe(503)
  })
})
