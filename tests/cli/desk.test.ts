/** The desk by the command line: on a localnet with nothing given, and refused where it has no business. */
import { chmodSync, mkdtempSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openDesk } from '../../src/cli/operator/desk.ts'
import { genesisHashes, knownMints } from '../../src/core/money/tokens.ts'
import { localnetDirectory } from '../../src/host/home.ts'
import { makeKeyFile } from '../../src/host/keys/key-file.ts'
import { createFace } from '../harness/fake-node.ts'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { errorOf, finished, start } from './command.ts'
import { runHere } from './in-process.ts'

const home = useTemporaryHome()
const directory = mkdtempSync(join(home.path, 'desk-'))
let world: LocalnetFixture
beforeAll(async () => {
  world = await createLocalnetFixture({ slotMs: 1_000_000 })
})
afterEach(() => {
  vi.unstubAllEnvs()
})
afterAll(async () => {
  await world.close()
  home.remove()
})

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const setup = () => ({
  network: 'localnet' as const,
  urls: [world.localnet.rpcUrl],
  keyFile: undefined,
  port: 0,
  host: '127.0.0.1',
  spreadBps: 30,
  mints: knownMints.localnet,
  log: quiet,
})
const quote = async (url: string, taker: string) => {
  const body = {
    genesis: world.localnet.genesisHash,
    taker,
    sell: 'SOL',
    buy: world.usdc.address,
    units: '1000000000',
  }
  const response = await fetch(`${url}/quote`, { method: 'POST', body: JSON.stringify(body) })
  return (await response.json()) as Record<string, unknown>
}

describe('on a localnet', () => {
  it('makes a wallet for this chain that only its owner can read, fills it, and quotes', async () => {
    const desk = await openDesk(setup())
    onTestFinished(() => desk.close())
    const file = join(localnetDirectory(world.localnet.genesisHash), 'desk.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const taker = await world.person()
    expect(await quote(desk.url, taker.address)).toMatchObject({ desk: desk.address, gives: '149550000' })
    const again = await openDesk(setup())
    onTestFinished(() => again.close())
    expect(again.address).toBe(desk.address)
  })

  it('goes by the rates that are given', async () => {
    const desk = await openDesk({ ...setup(), rates: 'SOL=200' })
    onTestFinished(() => desk.close())
    const taker = await world.person()
    expect(await quote(desk.url, taker.address)).toMatchObject({ gives: '199400000' })
  })

  it('runs as a command until it is stopped', async () => {
    const child = start([
      'dist/cli/main.js',
      'desk',
      '--network',
      'localnet',
      '--rpc',
      world.localnet.rpcUrl,
      '--port',
      '0',
    ])
    const ended = finished(child)
    const line = await new Promise<string>((resolve) => {
      let text = ''
      child.stdout?.on('data', (data: Buffer) => {
        text += data.toString()
        if (text.includes('\n')) resolve(text)
      })
    })
    const { url, address, venue } = JSON.parse(line) as Record<string, unknown>
    expect(venue).toEqual({ kind: 'rfq', url })
    const taker = await world.person()
    expect(await quote(String(url), taker.address)).toMatchObject({ desk: address })
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  })
})

describe('is refused', () => {
  const run = async (...args: readonly string[]) => {
    const done = await runHere(['desk', ...args, '--json'])
    return { code: done.code, message: errorOf(done).message }
  }

  it('on mainnet, also where a node of mainnet is given for another network', async () => {
    expect(await run('--network', 'mainnet')).toEqual({
      code: 2,
      message: 'The desk trades only test money. Use --network devnet or localnet.',
    })
    const fakeNode = await createFace(world.localnet.rpcUrl)
    onTestFinished(() => fakeNode.close())
    fakeNode.behave(({ id, method }, ask) => {
      if (method !== 'getGenesisHash') return ask()
      return { body: JSON.stringify({ jsonrpc: '2.0', id, result: genesisHashes.mainnet }) }
    })
    for (const network of ['localnet', 'devnet']) {
      const { code, message } = await run(
        '--network',
        network,
        '--rpc',
        fakeNode.url,
        '--key',
        join(directory, 'x.json'),
      )
      expect([code, message]).toEqual([2, expect.stringContaining('belongs to another chain')])
    }
  })

  it('without a wallet on devnet, and with a key file that others can read', async () => {
    const file = join(directory, 'open.json')
    makeKeyFile(file)
    chmodSync(file, 0o644)
    const open = await run('--network', 'localnet', '--rpc', world.localnet.rpcUrl, '--key', file)
    expect([open.code, open.message]).toEqual([4, expect.stringContaining('chmod 600')])
  })

  it.each([
    [['--spread', '5000'], '--spread must be a whole number from 0 to 1000'],
    [['--port', 'x'], '--port must be a whole number'],
    [['--rates', 'SOL=much'], '--rates cannot be used'],
    [['--mint', 'USDC'], 'is not a mint'],
  ])('with %j', async (args, message) => {
    const refused = await run('--network', 'localnet', '--rpc', world.localnet.rpcUrl, ...args)
    expect([refused.code, refused.message]).toEqual([2, expect.stringContaining(message)])
  })
})
