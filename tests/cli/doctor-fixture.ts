import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest'
import { stringify } from 'yaml'
import { genesisHashes, knownMints, type Mint, type Network } from '../../src/core/money/tokens.ts'
import { readKeyring } from '../../src/core/protocol/keyring.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { type Behaviour, createFace, type FakeNode } from '../harness/fake-node.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { runHere } from './in-process.ts'

export const clock = createWallClock()
export const secret = `1:${'s3cretWord'.repeat(4)}`
export const usdc = knownMints.mainnet.USDC as Mint
let home: ReturnType<typeof useTemporaryHome>
export let world: LocalnetFixture
/** Speaks for whatever network the test is about. */
export let node: FakeNode
let upstream: Server
export let upstreamUrl: string
export let recipient: KeyPairSigner
export let directory: string

/** To be called once by each file: a chain, a node, an upstream, and for each test a directory and a recipient. */
export function useDoctorFixture(): void {
  beforeAll(async () => {
    home = useTemporaryHome()
    world = await createLocalnetFixture()
    world.localnet.setAccount(usdc.address, world.localnet.getAccount(world.usdc.address))
    node = await createFace(world.localnet.rpcUrl)
    upstream = createServer((_request, response) => void response.writeHead(404).end())
    upstreamUrl = await listen(upstream)
  })
  beforeEach(async () => {
    directory = mkdtempSync(join(home.path, 'doctor-'))
    for (const name of Object.keys(process.env)) {
      if (/^PAYSTILE_(?!HOME)/.test(name)) vi.stubEnv(name, undefined)
    }
    recipient = await newSigner()
    await world.localnet.fund(recipient.address, { SOL: 10_000_000n, USDC: 0n, NATIVE: 0n })
    play('devnet')
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
  })
  afterAll(async () => {
    upstream.close()
    await node.close()
    await world.close()
    home.remove()
  })
}

export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The node is of this network from now on, and answers other questions as it is told. */
export function play(network: Network, also?: Behaviour): void {
  node.behave(async (question, ask) => {
    if (question.method === 'getGenesisHash') {
      const hash = genesisHashes[network] ?? world.localnet.genesisHash
      return { body: JSON.stringify({ jsonrpc: '2.0', id: question.id, result: hash }) }
    }
    return also ? also(question, ask) : ask()
  })
}

export type Settings = Record<string, unknown>

export function settings(more: Settings = {}): Settings {
  return {
    network: 'devnet',
    recipient: recipient.address,
    upstream: upstreamUrl,
    rpc: node.url,
    ledger: join(directory, 'ledger.sqlite'),
    listen: { host: '127.0.0.1', port: 0 },
    token: 'USDC',
    routes: [{ path: '/api/*', price: 0.01 }],
    ...more,
  }
}
export function write(config: Settings | string = settings(), env = `PAYSTILE_SECRET=${secret}\n`): string {
  const file = join(directory, 'paystile.yaml')
  writeFileSync(file, typeof config === 'string' ? config : stringify(config))
  writeFileSync(join(directory, '.env'), env, { mode: 0o600 })
  return file
}

interface Check {
  readonly check: string
  readonly level: 'ok' | 'warn' | 'fail'
  readonly finding: string
  readonly next?: string
}
export interface Report {
  readonly code: number
  readonly text: string
  readonly checks: readonly Check[]
  readonly next: readonly string[]
}

/** A wallet with nothing in it is paid from now on. */
export async function beginAnew(): Promise<void> {
  recipient = await newSigner()
}

/** What a person sees. */
export async function see(): Promise<{ readonly code: number; readonly text: string }> {
  const { code, stdout } = await runHere(['doctor', join(directory, 'paystile.yaml')], { isTerminal: true })
  return { code, text: stdout }
}

export async function examine(...args: readonly string[]): Promise<Report> {
  const { code, stdout, stderr } = await runHere(['doctor', '--json', ...args])
  const { checks, next, ok } = JSON.parse(stdout) as Report & { readonly ok: boolean }
  expect(stderr).toBe('')
  expect([code, ok]).toEqual(checks.some(({ level }) => level === 'fail') ? [2, false] : [0, true])
  // What is not well always comes with what to do.
  expect(checks.filter((one) => one.level !== 'ok' && !one.next)).toEqual([])
  return { code, text: stdout, checks, next }
}
export const troubles = ({ checks }: Report) =>
  checks
    .filter(({ level }) => level !== 'ok')
    .map(({ check, level, finding, next }) => `${level} ${check}: ${finding} → ${next}`)
/** The one thing that is wrong. */
export function trouble(report: Report): string {
  const all = troubles(report)
  expect(all).toHaveLength(1)
  return all[0] ?? ''
}
export async function broken(config: Settings | string, env?: string): Promise<string> {
  return trouble(await examine(write(config, env)))
}

export async function makeLedger(path: string, more: { readonly secret?: string; readonly network?: Network } = {}) {
  const reading = readKeyring(more.secret ?? secret)
  if (reading.kind !== 'keyring') throw new Error(reading.why)
  const network = more.network ?? 'devnet'
  const identity = { network, service: 'default', fingerprint: reading.keyring.fingerprint }
  const isFile = !path.startsWith('postgres')
  // Made elsewhere and copied: what the driver still holds on to after closing is not the file that is looked at.
  const draft = isFile ? join(mkdtempSync(join(home.path, 'draft-')), 'ledger.sqlite') : path
  const ledger = await openLedger(draft, { clock, identity: { ...identity, genesis: genesisHashes[network] ?? '' } })
  await ledger.close()
  if (!isFile) return
  const db = new DatabaseSync(draft)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  copyFileSync(draft, path)
}

/** Test tokens of the service's own. */
export const own = () => ({ mints: { USDC: world.usdc.address } })
