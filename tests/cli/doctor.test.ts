/** Breaks a configuration in every way that people do, and follows what the doctor says until all is well. */
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { stringify } from 'yaml'
import { createRpc } from '../../src/chain/rpc.ts'
import { checkClock } from '../../src/cli/doctor/clock.ts'
import { main } from '../../src/cli/main.ts'
import { readKeyring } from '../../src/core/keys.ts'
import { genesisHashes, knownMints, type Mint, type Network } from '../../src/core/network.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createHttpTransport } from '../../src/host/transport.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { type Behaviour, bend, createFace, type Face, type Told } from '../harness/face.ts'
import { startPostgres } from '../harness/postgres.mjs'
import { useTemporaryHome } from '../harness/shop.ts'
import { createWorld, newSigner, type World } from '../harness/world.ts'

const home = useTemporaryHome()
const clock = createWallClock()
const secret = `1:${'s3cretWord'.repeat(4)}`
const usdc = knownMints.mainnet.USDC as Mint
let world: World
/** Speaks for whatever network the test is about. */
let node: Face
let upstream: Server
let upstreamUrl: string
let recipient: KeyPairSigner
let directory: string
let [stdout, stderr] = ['', '']

beforeAll(async () => {
  world = await createWorld()
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
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += text
    return true
  })
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += text
    return true
  })
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

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The node is of this network from now on, and answers other questions as it is told. */
function play(network: Network, also?: Behaviour): void {
  node.behave(async (question, ask) => {
    if (question.method === 'getGenesisHash') {
      const hash = genesisHashes[network] ?? world.localnet.genesisHash
      return { body: JSON.stringify({ jsonrpc: '2.0', id: question.id, result: hash }) }
    }
    return also ? also(question, ask) : ask()
  })
}

type Settings = Record<string, unknown>

function settings(more: Settings = {}): Settings {
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
function write(config: Settings | string = settings(), env = `PAYSTILE_SECRET=${secret}\n`): string {
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
interface Report {
  readonly code: number
  readonly text: string
  readonly checks: readonly Check[]
  readonly next: readonly string[]
}

async function examine(...args: readonly string[]): Promise<Report> {
  ;[stdout, stderr] = ['', '']
  const code = await main(['doctor', '--json', ...args])
  const { checks, next, ok } = JSON.parse(stdout) as Report & { readonly ok: boolean }
  expect(stderr).toBe('')
  expect([code, ok]).toEqual(checks.some(({ level }) => level === 'fail') ? [2, false] : [0, true])
  // What is not well always comes with what to do.
  expect(checks.filter((one) => one.level !== 'ok' && !one.next)).toEqual([])
  return { code, text: stdout, checks, next }
}
const troubles = ({ checks }: Report) =>
  checks
    .filter(({ level }) => level !== 'ok')
    .map(({ check, level, finding, next }) => `${level} ${check}: ${finding} → ${next}`)
/** The one thing that is wrong. */
function trouble(report: Report): string {
  const all = troubles(report)
  expect(all).toHaveLength(1)
  return all[0] ?? ''
}
async function broken(config: Settings | string, env?: string): Promise<string> {
  return trouble(await examine(write(config, env)))
}

async function makeLedger(path: string, more: { readonly secret?: string; readonly network?: Network } = {}) {
  const reading = readKeyring(more.secret ?? secret)
  if (reading.kind !== 'keyring') throw new Error(reading.why)
  const network = more.network ?? 'devnet'
  const identity = { network, service: 'default', fingerprint: reading.keyring.fingerprint }
  const ledger = await openLedger(path, { clock, identity: { ...identity, genesis: genesisHashes[network] ?? '' } })
  await ledger.close()
}

describe('a configuration that is right', () => {
  it('is well in every respect, and what comes next is to serve', async () => {
    const file = write(settings({ mints: { USDC: world.usdc.address } }))
    const report = await examine(file)
    expect(troubles(report)).toEqual([])
    expect(report.checks.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        'node',
        'config',
        'secret',
        'nodes',
        'recipient',
        'ledger',
        'clock',
        'rates',
        'upstream',
        'port',
      ]),
    )
    const said = report.checks.map(({ finding }) => finding).join('\n')
    expect(said).toMatch(/node 1 of 1 answers for devnet in \d+ ms, version [\d.]+, with WebSocket/)
    expect(said).toContain(`${recipient.address} can receive USDC`)
    expect(said).toContain(`${join(directory, 'ledger.sqlite')} will be made by the first start`)
    expect(said).toContain(`${upstreamUrl} answers (404)`)
    expect(report.next[0]).toContain('npx paystile serve')
  })

  it('is looked at without making or changing anything, the ledger in use and not in use', async () => {
    const [path, file] = [join(directory, 'ledger.sqlite'), write()]
    const snapshot = () =>
      // SQLite's index of the log in use is where readers mark their place.
      readdirSync(directory).map((name) => {
        if (name.endsWith('-shm')) return [name]
        const { mtimeMs, mode } = statSync(join(directory, name))
        const bytes = createHash('sha256')
          .update(readFileSync(join(directory, name)))
          .digest('hex')
        return [name, mtimeMs, mode, bytes]
      })
    const look = async () => {
      const before = snapshot()
      const report = await examine(file)
      expect(snapshot()).toEqual(before)
      return report
    }
    await look()
    expect(readdirSync(directory)).toEqual(['.env', 'paystile.yaml'])
    await makeLedger(path)
    const report = await look()
    expect(report.checks.find(({ check }) => check === 'ledger')?.finding).toBe(
      `${path} is whole, of this chain and of this secret, with 0 payments`,
    )
    const reading = readKeyring(secret)
    const fingerprint = reading.kind === 'keyring' ? reading.keyring.fingerprint : ''
    const open = await openLedger(path, { clock, identity: { network: 'devnet', service: 'default', fingerprint } })
    await look()
    await open.close()
  })

  it('tells in words what it tells in JSON', async () => {
    write(settings({ upstream: 'http://127.0.0.1:1', mints: { USDC: world.usdc.address } }))
    ;[stdout, stderr] = ['', '']
    Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true })
    const code = await main(['doctor', join(directory, 'paystile.yaml')]).finally(() => {
      Reflect.deleteProperty(process.stdout, 'isTTY')
    })
    expect(code).toBe(2)
    expect(stdout).toMatch(/^ok {4}config {5}.*paystile\.yaml: 1 paid route on devnet$/m)
    expect(stdout).toMatch(
      /^FAIL {2}upstream {3}http:\/\/127\.0\.0\.1:1 does not answer \(ECONNREFUSED\)\n +→ start your service/m,
    )
    expect(stdout).toMatch(/What to run next:\n {2}start your service.*\n {2}npx paystile doctor /)
  })
})

describe('a configuration that is not', () => {
  const own = () => ({ mints: { USDC: world.usdc.address } })

  it('there is none', async () => {
    const report = await examine(join(directory, 'paystile.yaml'))
    expect(trouble(report)).toMatch(/fail config: .*paystile\.yaml does not exist → npx paystile init/)
    expect(report.next).toContain('npx paystile init makes one')
  })

  it('an option is misspelt, and another has the wrong kind: both are told, with their places', async () => {
    const report = await examine(
      write(`network: devnet\nrecipent: ${recipient.address}\nroutes:\n  - path: 7\n    price: 1\n`),
    )
    const said = [...troubles(report)].sort()
    expect(said).toHaveLength(2)
    expect(said[0]).toMatch(
      /paystile\.yaml:2:1: recipent: is not an option; did you mean recipient\? → edit .*paystile\.yaml$/,
    )
    expect(said[1]).toMatch(/paystile\.yaml:4:11: routes\[0\]\.path: must be text → edit/)
  })

  it('the secret is missing, is too short, or its file is open to others', async () => {
    expect(await broken(settings(own()), '')).toMatch(/fail config: .*secret: devnet needs a keyring .*PAYSTILE_SECRET/)
    expect(await broken(settings(own()), 'PAYSTILE_SECRET=1:short')).toMatch(/secret: .*fewer than 32 characters/)
    const file = write(settings(own()))
    chmodSync(join(directory, '.env'), 0o644)
    const said = trouble(await examine(file))
    expect(said).toBe(
      `warn secret: other users of this machine can read ${directory}/.env → chmod 600 ${directory}/.env`,
    )
    chmodSync(join(directory, '.env'), 0o600)
    expect(troubles(await examine(file))).toEqual([])
  })

  it('no node answers, or one of two', async () => {
    const report = await examine(write(settings({ rpc: 'http://127.0.0.1:1' })))
    expect(trouble(report)).toMatch(
      /fail nodes: node 1 of 1: the node cannot be reached \(ECONNREFUSED\) → correct rpc/,
    )
    const two = await broken(settings({ ...own(), rpc: [node.url, 'http://127.0.0.1:1'] }))
    expect(two).toMatch(/warn nodes: node 2 of 2: the node cannot be reached/)
    const local = await broken(settings({ network: 'localnet', rpc: 'http://127.0.0.1:1', ledger: undefined }))
    expect(local).toContain('start the chain with npx paystile localnet')
  })

  it.each([
    ['mainnet', 'devnet'],
    ['localnet', 'devnet'],
    ['devnet', 'localnet'],
  ] as const)('T73: the node is of %s, and the configuration for %s', async (actual, wanted) => {
    play(actual)
    const report = await examine(write(settings({ network: wanted })))
    expect(report.code).toBe(2)
    const name = actual === 'localnet' ? 'another chain' : actual
    expect(troubles(report)).toEqual([
      `fail nodes: node 1 of 1 is a node of ${name}, not of ${wanted} → give a node of ${wanted} as rpc in the configuration, or PAYSTILE_RPC`,
    ])
  })

  it('a node lags behind, or has no WebSocket', async () => {
    const other = await createFace(world.localnet.rpcUrl)
    other.withoutSockets()
    other.behave(bend('getGenesisHash', () => genesisHashes.devnet))
    play(
      'devnet',
      bend<number>('getSlot', (slot) => slot + 1_000),
    )
    const said = troubles(await examine(write(settings({ ...own(), rpc: [node.url, other.url] }))))
    expect(said[0]).toMatch(/warn nodes: node 2 is \d+ slots behind the others → wait until it has caught up/)
    expect(said[1]).toMatch(/warn nodes: node 2 opens no WebSocket/)
    expect(said).toHaveLength(2)
    await other.close()
  })

  it('T74: the mint is of another chain, or another one', async () => {
    const stranger = (await newSigner()).address
    expect(await broken(settings({ mints: { USDC: stranger } }))).toBe(
      `fail recipient: mints.USDC: ${stranger} does not exist on this chain → correct mints.USDC in the configuration`,
    )
    expect(await broken(settings({ mints: { USDC: { address: world.usdc.address, decimals: 9 } } }))).toContain(
      'has 6 decimals and not 9 → correct mints.USDC',
    )
  })

  it('the test tokens of devnet were never made, and the doctor says how', async () => {
    play('devnet', async (question, ask) => {
      if (question.method !== 'getMultipleAccounts') return ask()
      const told = (await ask()) as Told
      const answer = JSON.parse(told.body) as { readonly result: { readonly value: unknown[] } }
      const value = answer.result.value.map((one, index) => (index === 1 ? null : one))
      return { body: JSON.stringify({ ...answer, result: { ...answer.result, value } }) }
    })
    expect(await broken(settings())).toMatch(
      /there is no USDC on devnet .* → npx paystile mints create faucet\.json --network devnet/,
    )
  })

  it('the recipient is a mint, or a token account', async () => {
    expect(await broken(settings({ ...own(), recipient: usdc.address }))).toMatch(
      /fail config: .*recipient: .* is a program or a mint/,
    )
    const account = await world.tokenAccount(recipient.address, world.usdc)
    expect(await broken(settings({ ...own(), recipient: account, token: 'SOL' }))).toMatch(
      /fail recipient: recipient: .* is a token account or a mint, not a wallet → give the address of a wallet of yours/,
    )
  })

  it('the recipient has no account for the token on mainnet, and then it has', async () => {
    play('mainnet')
    recipient = await newSigner()
    const config = settings({ network: 'mainnet', rpc: [node.url, node.url], publicUrl: 'https://127.0.0.1:1' })
    const said = troubles(await examine(write(config)))
    expect(said[0]).toBe(
      `fail recipient: recipient: has no USDC account yet → open it with spl-token create-account ${usdc.address} --owner ${recipient.address}, or give accountKey`,
    )
    expect(said[1]).toMatch(/warn publicUrl: .* does not answer from here .* → start the service/)
    const key = join(directory, 'key.json')
    expect(troubles(await examine(write({ ...config, accountKey: key })))[0]).toMatch(
      /fail keys: accountKey: The key file .* does not exist.* → npx paystile wallet new /,
    )
  })

  it('the wallet is too empty to be paid so little', async () => {
    recipient = await newSigner()
    const said = await broken(settings({ token: 'SOL', routes: [{ path: '/x', price: 0.0001 }] }))
    expect(said).toMatch(
      /fail recipient: .* is empty, and a wallet cannot begin with 0.0001 SOL → send it 0.00089088 SOL once/,
    )
    await world.localnet.fund(recipient.address, { SOL: 890_880n })
    expect(troubles(await examine(write(settings({ token: 'SOL', routes: [{ path: '/x', price: 0.0001 }] }))))).toEqual(
      [],
    )
  })

  it('the ledger belongs to another secret, to another network, or to another program', async () => {
    const path = join(directory, 'ledger.sqlite')
    await makeLedger(path, { secret: `1:${'x'.repeat(40)}` })
    expect(await broken(settings(own()))).toMatch(
      /fail ledger: .* made with another root secret \(fingerprint .*\) → set PAYSTILE_SECRET back to the keyring it was made with, or start with a new ledger/,
    )
    const other = join(directory, 'other.sqlite')
    await makeLedger(other, { network: 'mainnet' })
    expect(await broken(settings({ ...own(), ledger: other }))).toMatch(
      /holds payments of mainnet, not of devnet → give each network/,
    )
    const { DatabaseSync } = await import('@photostructure/sqlite')
    const foreign = join(directory, 'foreign.sqlite')
    const db = new DatabaseSync(foreign)
    db.exec('CREATE TABLE mine (a)')
    db.close()
    expect(await broken(settings({ ...own(), ledger: foreign }))).toMatch(
      /database of another program → give the ledger a file/,
    )
  })

  it('the ledger is no database, is damaged, is a directory, or has no place', async () => {
    const path = join(directory, 'ledger.sqlite')
    writeFileSync(path, 'not a database at all, but long enough to be looked at')
    expect(await broken(settings(own()))).toMatch(/fail ledger: .*not a SQLite database, or is damaged/)
    const damaged = join(directory, 'damaged.sqlite')
    await makeLedger(damaged)
    const { DatabaseSync } = await import('@photostructure/sqlite')
    const db = new DatabaseSync(damaged)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    const bytes = readFileSync(damaged)
    bytes.fill(0xff, 4096 * 2, 4096 * 4)
    writeFileSync(damaged, bytes)
    expect(await broken(settings({ ...own(), ledger: damaged }))).toMatch(
      /damaged.* → (stop the service and )?restore it/,
    )
    expect(await broken(settings({ ...own(), ledger: directory }))).toMatch(/is a directory → name a file inside it/)
    const nowhere = join(directory, 'no', 'where.sqlite')
    expect(await broken(settings({ ...own(), ledger: nowhere }))).toMatch(
      /has no place → make the directory .*no, or name another/,
    )
    mkdirSync(join(directory, 'no'))
    expect(troubles(await examine(write(settings({ ...own(), ledger: nowhere }))))).toEqual([])
  })

  it('the upstream is not there, is ill, or is the gateway itself', async () => {
    expect(await broken(settings({ ...own(), upstream: 'http://127.0.0.1:1' }))).toMatch(
      /fail upstream: http:\/\/127\.0\.0\.1:1 does not answer \(ECONNREFUSED\) → start your service, or correct upstream/,
    )
    const ill = createServer((_request, response) => void response.writeHead(503).end())
    expect(await broken(settings({ ...own(), upstream: await listen(ill) }))).toMatch(
      /warn upstream: .* answers \(503\)/,
    )
    ill.close()
    const round = { upstream: 'http://localhost:8499', listen: { host: '0.0.0.0', port: 8499 } }
    expect(await broken(settings({ ...own(), ...round }))).toMatch(
      /is the gateway itself, so every request would go round/,
    )
  })

  it('another program has the port, and paystile itself is no other', async () => {
    const rival = createServer((_request, response) => void response.end('{}'))
    const { port } = new URL(await listen(rival))
    const config = settings({ ...own(), listen: { host: '127.0.0.1', port: Number(port) } })
    expect(await broken(config)).toMatch(/fail port: another program has 127\.0\.0\.1:\d+ → end it, or change listen/)
    rival.removeAllListeners('request')
    rival.on('request', (_request, response) => void response.end('{"network":"devnet"}'))
    const report = await examine(write(config))
    expect(troubles(report)).toEqual([])
    expect(report.next).toEqual([`npx paystile pay http://127.0.0.1:${port}/api/hello`])
    rival.close()
    expect(await broken(settings({ ...own(), listen: { host: '192.0.2.1' } }))).toMatch(
      /fail port: 192\.0\.2\.1 is no address of this machine/,
    )
  })

  it('the public address is not https on mainnet, or not set', async () => {
    play('mainnet')
    await world.localnet.fund(recipient.address, { SOL: 1n })
    const config = settings({ network: 'mainnet', token: 'SOL', rpc: [node.url, node.url] })
    expect(await broken({ ...config, publicUrl: 'http://shop.example' })).toMatch(
      /fail publicUrl: .* is not https.* → write publicUrl: https/,
    )
    expect(await broken(config)).toMatch(/warn publicUrl: is not set/)
    expect(troubles(await examine(write({ ...config, rpc: node.url })))[0]).toMatch(
      /warn nodes: one node is all there is.* → add a second/,
    )
  })

  it.each([
    [600, 'behind', 'fail'],
    [-600, 'ahead of', 'fail'],
    [30, 'behind', 'warn'],
  ] as const)('T168: the clock is off by %d seconds', async (seconds, words, level) => {
    const told = bend('paystile_clock', () => ({ timeMs: clock.now() + seconds * 1000 }))
    play('devnet', told)
    const said = await broken(settings(own()))
    expect(said).toMatch(
      new RegExp(
        `^${level} clock: this machine's clock is [\\d.]+ s ${words} the chain.* → set the clock of this machine: timedatectl`,
      ),
    )
  })

  it('a rate cannot be had', async () => {
    const config = { ...own(), acceptedMints: ['USDC', 'SOL'], rates: { source: 'pyth', url: 'http://127.0.0.1:1' } }
    const said = await broken(settings(config))
    expect(said).toMatch(
      /warn rates: SOL has no rate that can be believed by pyth: .*; until then only USDC is taken → see that pyth can be reached/,
    )
    const alone = await broken(settings({ ...config, acceptedMints: ['SOL'] }))
    expect(alone).toMatch(/^fail rates: SOL has no rate/)
    expect(troubles(await examine(write(settings({ ...config, rates: { SOL: '150' } }))))).toEqual([])
  })
})

describe('PostgreSQL', () => {
  it('is looked at in the same way: who made it, what it keeps, and what time it has', async () => {
    const server = await startPostgres()
    const [url, other] = [await server.place(), await server.place()]
    try {
      const config = { mints: { USDC: world.usdc.address }, ledger: url }
      const fresh = await examine(write(settings(config)))
      expect(troubles(fresh)).toEqual([])
      expect(fresh.text).toContain('will be made by the first start')
      expect(await server.sql("SELECT to_regclass('paystile_meta') AS made", new URL(url).pathname.slice(1))).toEqual([
        { made: null },
      ])
      await makeLedger(url)
      const made = await examine(write(settings(config)))
      expect(troubles(made)).toEqual([])
      expect(made.text).toContain('of this chain and of this secret')
      await makeLedger(other, { secret: `1:${'x'.repeat(40)}` })
      expect(await broken(settings({ ...config, ledger: other }))).toMatch(/made with another root secret/)
      await server.kill()
      await server.start(['-c', 'fsync=off'])
      expect(await broken(settings(config))).toMatch(
        /fail ledger: .* runs with fsync=off and could forget payments → set fsync=on/,
      )
    } finally {
      await server.close()
    }
    expect(await broken(settings({ mints: { USDC: world.usdc.address }, ledger: url }))).toMatch(
      /fail ledger: The ledger .* cannot be used at this moment: .* → start the database/,
    )
  })

  it('T168: a clock of the database that is off is told, against the chain and against this machine', async () => {
    const { rpc, ground } = { rpc: node.url, ground: createHttpTransport() }
    const nodes = createRpc({ urls: [rpc], transport: ground.transport })
    const at = (aheadMs: number) => checkClock('devnet', { rpc: nodes, genesis: genesisHashes.devnet }, aheadMs)
    expect((await at(100)).map(({ level }) => level)).toEqual(['ok'])
    const off = await at(600_000)
    expect(off.map(({ level, finding }) => `${level} ${finding}`)).toEqual([
      expect.stringMatching(/^fail the database's clock is [\d.]+ s ahead of the chain, so payments would be refused/),
      expect.stringMatching(/^warn the database's clock is 600\.0 s ahead of this machine's/),
    ])
    nodes.close()
    await ground.close()
  })
})

describe('the middleware', () => {
  const set = (variables: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
    vi.spyOn(process, 'cwd').mockReturnValue(directory)
  }

  it('is looked at by its environment where there is no file', async () => {
    set({
      PAYSTILE_NETWORK: 'devnet',
      PAYSTILE_RPC: node.url,
      PAYSTILE_SECRET: secret,
      PAYSTILE_LEDGER: join(directory, 'ledger.sqlite'),
      PAYSTILE_RECIPIENT: recipient.address,
    })
    const report = await examine()
    expect(troubles(report)).toEqual([])
    expect(report.checks.map(({ finding }) => finding).join('\n')).toContain(`${recipient.address} can receive USDC`)
    expect(report.next).toEqual(['start your program'])
  })

  it('may give its recipient by itself', async () => {
    set({ PAYSTILE_NETWORK: 'devnet', PAYSTILE_RPC: node.url, PAYSTILE_SECRET: secret })
    vi.stubEnv('PAYSTILE_LEDGER', join(directory, 'ledger.sqlite'))
    const report = await examine()
    expect(report.checks.filter(({ check }) => check === 'recipient')).toEqual([])
    expect(troubles(report)).toEqual([])
  })

  it('is told by the variable what is wrong', async () => {
    set({ PAYSTILE_NETWORK: 'devnett', PAYSTILE_SECRET: secret })
    expect(trouble(await examine())).toMatch(
      /fail config: network \(PAYSTILE_NETWORK\): must be one of mainnet, devnet, localnet/,
    )
  })

  it('is told to begin where there is nothing', async () => {
    set({})
    expect(trouble(await examine())).toMatch(
      /there is no paystile\.yaml here, and no PAYSTILE_ variable is set → npx paystile init/,
    )
  })
})

describe('whatever it meets', () => {
  const password = 'hunter2hunter2'
  const token = 'ApiKeyThatIsNobodysBusiness'

  it('T140: it repeats no secret, neither of the file, nor of the environment, nor out of an error', async () => {
    const env = [
      `PAYSTILE_SECRET=${secret},2:tooShort`,
      `PAYSTILE_RPC=http://127.0.0.1:1/${token}?api-key=${token}`,
      `PAYSTILE_LEDGER=postgres://user:${password}@127.0.0.1:1/shop`,
      `UPSTREAM_KEY=${token}`,
    ].join('\n')
    const variants: Settings[] = [
      settings({ rpc: undefined, ledger: undefined, headers: { authorization: `Bearer \${UPSTREAM_KEY}` } }),
      settings({ rpc: `ftp://${token}`, secret: `9:${password}`, ledger: `mysql://u:${password}@h/d` }),
      settings({ rates: { source: 'pyth', apiKey: `${token} ` }, publicUrl: `http://u:${password}@x/?k=${token}` }),
      settings({ secret: token, price: token, network: token, webhooks: [{ url: 'x', secret: password }] }),
      settings({ ledger: `sqlite:/nowhere/at/all.sqlite`, upstream: `http://me:${password}@127.0.0.1:1` }),
    ]
    for (const config of variants) {
      for (const lines of [env, env.replace(',2:tooShort', '')]) {
        const { text } = await examine(write(config, lines))
        for (const word of [password, token, secret.slice(2)]) expect(text).not.toContain(word)
      }
    }
  })

  it.each([
    ['nothing', ''],
    ['no YAML', '{{{{\n\t- : :'],
    ['a list', '- 1\n- 2'],
    ['a word', 'paystile'],
    ['bytes', '\u0000\u0001\u0002\ufffd'],
    ['null everywhere', 'network: ~\nroutes: ~\nlisten: ~\n'],
    ['a thousand aliases', `a: &a [x,x]\nb: &b [${'*a,'.repeat(60)}]\nc: [${'*b,'.repeat(60)}]`],
    ['a variable that is not set', `upstream: \${NOWHERE_TO_BE_FOUND}\nroutes: []`],
    ['numbers for text', 'network: 1\nrecipient: 2\nrpc: 3\nroutes: [4]\nlisten: 5'],
    ['a prototype', '__proto__: { a: 1 }\nconstructor: 2\nroutes: [{ path: /x, price: 1, __proto__: {} }]'],
  ])('%s as a configuration is a finding, and not a crash', async (_name, text) => {
    const report = await examine(write(text))
    expect(report.code).toBe(2)
    expect(report.checks.filter(({ check, level }) => check === 'config' && level === 'fail').length).toBeGreaterThan(0)
  })

  it('a directory, and a file that may not be read, are findings', async () => {
    expect(trouble(await examine(directory))).toMatch(/is a directory; name the file in it/)
    mkdirSync(join(directory, '.env'))
    writeFileSync(join(directory, 'paystile.yaml'), stringify(settings({ secret })))
    const said = troubles(await examine(join(directory, 'paystile.yaml')))
    expect(said).toContainEqual(expect.stringMatching(/fail secret: .*\.env cannot be read \(EISDIR\)/))
  })

  it('a node that answers nonsense is a finding', async () => {
    for (const body of ['', '<html>', '{"jsonrpc":"2.0","id":1,"result":7}', '[]', '{"error":{"code":1}}']) {
      node.behave(() => ({ body }))
      const report = await examine(write(settings()))
      expect(troubles(report)[0]).toMatch(/^fail nodes: node 1 of 1/)
    }
    play('devnet', (question, ask) =>
      ['getVersion', 'getSlot', 'getMultipleAccounts', 'paystile_clock', 'getAccountInfo'].includes(question.method)
        ? { body: JSON.stringify({ jsonrpc: '2.0', id: question.id, result: { value: [{}, 'x', null] } }) }
        : ask(),
    )
    const report = await examine(write(settings()))
    expect(troubles(report).map((one) => one.split(':')[0])).toEqual(['warn nodes', 'warn recipient', 'warn clock'])
  })
})
