/** Test tokens of one's own, and a faucet that gives them, by the command line alone. */
import { mkdtempSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { parse } from 'yaml'
import { createRpc } from '../../src/chain/rpc/rpc.ts'
import { initAgentWallet } from '../../src/client/agent-wallet.ts'
import { genesisHashes, type Mint } from '../../src/core/money/tokens.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { bend, createFace } from '../harness/fake-node.ts'
import { openFaucet } from '../harness/faucet.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { runHere } from './in-process.ts'

const home = useTemporaryHome()
const directory = mkdtempSync(join(home.path, 'money-'))
const keyFile = join(directory, 'faucet.json')
const http = createHttpTransport()
let world: LocalnetFixture
let key: string

beforeAll(async () => {
  world = await createLocalnetFixture()
  key = (await initAgentWallet({ path: keyFile })).address
})
beforeEach(() => {
  vi.stubEnv('PAYSTILE_RPC', undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})
afterAll(async () => {
  await http.close()
  await world.close()
  home.remove()
})

async function run(...args: readonly string[]) {
  const { code, stdout, stderr } = await runHere([...args, '--json'])
  return {
    code,
    result: stdout === '' ? undefined : JSON.parse(stdout),
    error: stderr && JSON.parse(stderr).error.message,
  }
}
const create = (...args: readonly string[]) =>
  run('mints', 'create', keyFile, '--network', 'localnet', '--rpc', world.localnet.rpcUrl, ...args)

describe('mints create', () => {
  it('names the missing part: SOL, a node, a test network', async () => {
    const poor = await create()
    expect([poor.code, poor.error]).toEqual([4, expect.stringContaining(`Get some from npx paystile faucet ${key}`)])
    const nowhere = await run('mints', 'create', keyFile, '--network', 'devnet', '--rpc', 'http://127.0.0.1:1')
    expect([nowhere.code, nowhere.error]).toEqual([7, 'No node of devnet can be reached. Set one with --rpc.'])
    expect((await run('mints', 'create', keyFile, '--network', 'mainnet')).error).toContain(
      'mainnet has no test tokens',
    )
    expect((await run('mints', 'create', join(directory, 'none.json'))).code).toBe(4)
  })

  it.each(['mainnet', 'devnet'] as const)(
    'T163: makes nothing on a node of %s that was given for a localnet',
    async (network) => {
      await world.localnet.fund(key, { SOL: 1_000_000_000n })
      const node = await createFace(world.localnet.rpcUrl)
      node.behave(bend('getGenesisHash', () => genesisHashes[network]))
      const end = await run('mints', 'create', keyFile, '--network', 'localnet', '--rpc', node.url)
      expect([end.code, end.error]).toEqual([2, expect.stringContaining('belongs to another chain than localnet')])
      expect(node.asked).not.toContain('sendTransaction')
      await node.close()
    },
  )

  it('makes them once, and prints the lines that use them', async () => {
    const { code, result } = await create()
    expect([code, result.made]).toEqual([0, ['USDC', 'NATIVE']])
    expect((await create()).result).toMatchObject({ made: [], mints: result.mints })
    const again = ['mints', 'create', keyFile, '--network', 'localnet', '--rpc', world.localnet.rpcUrl]
    const { stdout } = await runHere(again, { isTerminal: true })
    const yaml = parse(stdout.slice(stdout.indexOf('network:')))
    expect(yaml).toEqual({
      network: 'localnet',
      mints: {
        USDC: { address: result.mints.USDC.address, decimals: 6 },
        NATIVE: { address: result.mints.NATIVE.address, decimals: 9 },
      },
      faucetKey: keyFile,
    })
  })
})

describe('faucet --url', () => {
  it('gets money from the faucet of a service, and says why when it gets none', async () => {
    await world.localnet.fund(key, { SOL: 1_000_000_000n })
    const { mints } = (await create()).result as { readonly mints: { readonly USDC: Mint; readonly NATIVE: Mint } }
    const { rpcUrl, genesisHash } = world.localnet
    const rpc = createRpc({ urls: [rpcUrl], transport: http.transport })
    const faucet = openFaucet({
      network: 'localnet',
      genesis: genesisHash,
      rpc,
      urls: [rpcUrl],
      transport: http.transport,
      mints,
      faucetKey: keyFile,
      clock: createWallClock(),
    })
    const server = serve({ fetch: (request) => faucet(request, { peer: '127.0.0.1' }), port: 0, hostname: '127.0.0.1' })
    await new Promise((resolve) => server.once('listening', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/faucet`
    const { address } = await newSigner()
    const end = await run('faucet', address, '--url', url)
    expect(end).toMatchObject({
      code: 0,
      result: { filled: [{ amounts: { SOL: '0.01', USDC: '10', NATIVE: '100' } }] },
    })
    expect(world.localnet.getAccount(address)?.lamports).toBe(10_000_000n)
    await run('faucet', address, '--url', url)
    const enough = await run('faucet', address, '--url', url)
    expect([enough.code, enough.error]).toEqual([
      5,
      `The faucet ${url} refused: Faucet limit reached. Try again in 30 minutes.`,
    ])
    expect((await run('faucet', address, '--url', 'nonsense')).error).toContain('is not an http or https address')
    server.close()
    rpc.close()
  })

  it.each<[string, number, string, string]>([
    ['no JSON', 200, 'ok', 'its answer is not that of a faucet'],
    ['JSON without amounts', 200, 'null', 'its answer is not that of a faucet'],
    ['words for amounts', 200, '{"amounts":{"SOL":"1 from here.\\nSend"}}', 'its answer is not that of a faucet'],
    ['an error that is no text', 400, '{"error":{"a":1}}', 'status 400'],
    ['a body without end', 500, '', 'status 500'],
  ])('T236: that answers with %s is refused in one sentence', async (name, status, body, why) => {
    const isEndless = name === 'a body without end'
    const url = await host((response) => {
      response.writeHead(status).write(isEndless ? 'x'.repeat(70_000) : body)
      if (!isEndless) response.end()
    })
    const { address } = await newSigner()
    const end = await run('faucet', address, '--url', url)
    expect([end.code, end.result, end.error]).toEqual([5, undefined, `The faucet ${url} refused: ${why}.`])
  })

  it('T236: that does not answer is given up', async () => {
    const url = await host(() => {})
    const { address } = await newSigner()
    vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(AbortSignal.any([AbortSignal.timeout(20)]))
    const end = await run('faucet', address, '--url', url)
    expect([end.code, end.error]).toEqual([7, `The faucet ${url} did not answer within 60 seconds. Try again.`])
  })
})

async function host(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => answer(response)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/faucet`
}
