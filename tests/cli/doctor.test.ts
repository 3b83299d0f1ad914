/** Breaks a configuration in every way that people do, and follows what the doctor says until all is well. */
import { createHash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { genesisHashes } from '../../src/core/money/tokens.ts'
import { readKeyring } from '../../src/core/protocol/keyring.ts'
import { createIdentity } from '../../src/host/keys/ed25519.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openKeyring } from '../../src/paywall/config/config.ts'
import { bend, createFace, type Told, timeOff } from '../harness/fake-node.ts'
import { freePort } from '../harness/free-port.mjs'
import { newSigner } from '../harness/localnet-fixture.ts'
import {
  beginAnew,
  broken,
  clock,
  directory,
  examine,
  listen,
  makeLedger,
  node,
  own,
  play,
  recipient,
  secret,
  see,
  settings,
  trouble,
  troubles,
  upstreamUrl,
  usdc,
  useDoctorFixture,
  world,
  write,
} from './doctor-fixture.ts'

useDoctorFixture()

describe('a configuration that is right', () => {
  it('passes all checks, and the next step is serve', async () => {
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
    expect(said).toMatch(/node 1 of 1 responds for devnet in \d+ ms, version [\d.]+, with WebSocket/)
    expect(said).toContain(`${recipient.address} can receive USDC`)
    expect(said).toContain(`${join(directory, 'ledger.sqlite')} will be created at the first start`)
    expect(said).toContain(`${upstreamUrl} responds (404)`)
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
      `${path} is intact and matches the chain and the secret, with 0 payments`,
    )
    const reading = readKeyring(secret)
    const fingerprint = reading.kind === 'keyring' ? reading.keyring.fingerprint : ''
    const open = await openLedger(path, { clock, identity: { network: 'devnet', service: 'default', fingerprint } })
    await look()
    await open.close()
  })

  it('prints the same findings as text and as JSON', async () => {
    write(settings({ upstream: 'http://127.0.0.1:1', mints: { USDC: world.usdc.address } }))
    const { code, text } = await see()
    expect(code).toBe(2)
    expect(text).toMatch(/^ok {4}config {5}.*paystile\.yaml: 1 paid route on devnet$/m)
    expect(text).toMatch(
      /^FAIL {2}upstream {3}http:\/\/127\.0\.0\.1:1 does not respond \(ECONNREFUSED\), so its routes sell nothing\n +→ start your service/m,
    )
    expect(text).toMatch(/Next steps:\n {2}start your service.*\n {2}npx paystile doctor /)
  })
})

describe('a configuration that is not', () => {
  it('there is none', async () => {
    const report = await examine(join(directory, 'paystile.yaml'))
    expect(trouble(report)).toMatch(/fail config: .*paystile\.yaml does not exist → npx paystile init/)
    expect(report.next).toEqual(['npx paystile init', expect.stringContaining('npx paystile doctor')])
  })

  it('a variable that it names is not set: it is told where to set it', async () => {
    const said = await broken(settings({ ...own(), headers: { Authorization: `Bearer \${API_KEY}` } }))
    expect(said).toMatch(/the environment variable API_KEY is not set.* → set API_KEY in \.env, or in the environment$/)
  })

  it('a ledger outlives the chain in the service, so that the next start would refuse it', async () => {
    const config = { network: 'localnet', rpc: undefined }
    expect(await broken(settings(config))).toMatch(
      /^fail ledger: outlives the local chain.* → remove ledger from the configuration, or run npx paystile localnet --keep/,
    )
    expect(troubles(await examine(write(settings({ ...config, ledger: undefined }))))).toEqual([])
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
    expect(said[1]).toMatch(/paystile\.yaml:4:11: routes\[0\]\.path: must be text: put it in quotes → edit/)
  })

  it('the secret is missing, is too short, or its file is open to others', async () => {
    expect(await broken(settings(own()), '')).toMatch(/fail config: .*secret: devnet needs a keyring .*PAYSTILE_SECRET/)
    expect(await broken(settings(own()), 'PAYSTILE_SECRET=1:short')).toMatch(
      /secret: .*fewer than 32 characters.* → set PAYSTILE_SECRET in \.env/,
    )
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
    expect(local).toMatch(/^fail nodes: .* → start the chain with npx paystile localnet/)
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
      `fail nodes: node 1 of 1 is a node of ${name}, not of ${wanted} → set a node of ${wanted} as rpc in the configuration, or PAYSTILE_RPC`,
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
    expect(said[1]).toMatch(/warn nodes: node 2 has no WebSocket/)
    expect(said).toHaveLength(2)
    await other.close()
  })

  it('T74: the mint is of another chain, or another one', async () => {
    const stranger = (await newSigner()).address
    expect(await broken(settings({ mints: { USDC: stranger } }))).toBe(
      `fail recipient: mints.USDC: ${stranger} does not exist on this chain → correct mints.USDC in the configuration`,
    )
    expect(await broken(settings({ mints: { USDC: { address: world.usdc.address, decimals: 9 } } }))).toContain(
      'has 6 decimals, not 9 → correct mints.USDC',
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
      /devnet has no USDC .* → run npx paystile mints create faucet\.json --network devnet/,
    )
  })

  it('the recipient is a mint, or a token account', async () => {
    expect(await broken(settings({ ...own(), recipient: usdc.address }))).toMatch(
      /fail config: .*recipient: .* is a program or a mint/,
    )
    const account = await world.tokenAccount(recipient.address, world.usdc)
    expect(await broken(settings({ ...own(), recipient: account, token: 'SOL' }))).toMatch(
      /fail recipient: recipient: .* is a token account or a mint, not a wallet → set recipient to the address of your wallet/,
    )
  })

  it('a wallet of splits has no account for the token', async () => {
    const { address } = await newSigner()
    const splits = [{ recipient: address, share: 10 }]
    expect(troubles(await examine(write(settings({ ...own(), splits }))))[0]).toContain(
      'fail recipient: splits.0.recipient: has no USDC account yet → open it with spl-token create-account ',
    )
    await world.localnet.fund(address, { USDC: 0n })
    expect(troubles(await examine(write(settings({ ...own(), splits }))))).toEqual([])
  })

  it('the recipient has no account for the token on mainnet, and then it has', async () => {
    play('mainnet')
    await beginAnew()
    const config = settings({ network: 'mainnet', rpc: [node.url, node.url], publicUrl: 'https://127.0.0.1:1' })
    const said = troubles(await examine(write(config)))
    expect(said[0]).toBe(
      `fail recipient: recipient: has no USDC account yet → open it with spl-token create-account ${usdc.address} --owner ${recipient.address}, or give accountKey`,
    )
    expect(said[1]).toMatch(/warn publicUrl: .* does not respond from here .* → start the service/)
    const key = join(directory, 'key.json')
    expect(troubles(await examine(write({ ...config, accountKey: key })))[0]).toMatch(
      /fail keys: accountKey: The key file .* does not exist.* → create it with npx paystile keys new /,
    )
  })

  it('the wallet is too empty to be paid so little', async () => {
    await beginAnew()
    const said = await broken(settings({ token: 'SOL', routes: [{ path: '/x', price: 0.0001 }] }))
    expect(said).toMatch(
      /fail recipient: .* is empty, and 0.0001 SOL is too little to open it → send it 0.00089088 SOL once/,
    )
    const routes = [0.0001, 0.0002].map((price) => ({ path: `/${price}`, price }))
    play('localnet')
    expect(await broken(settings({ network: 'localnet', token: 'SOL', ledger: undefined, routes }))).toContain(
      `→ npx paystile faucet ${recipient.address} --token SOL`,
    )
    play('devnet')
    await world.localnet.fund(recipient.address, { SOL: 890_880n })
    expect(troubles(await examine(write(settings({ token: 'SOL', routes: [{ path: '/x', price: 0.0001 }] }))))).toEqual(
      [],
    )
  })

  it('the upstream is not there, is ill, or is the gateway itself', async () => {
    expect(await broken(settings({ ...own(), upstream: 'http://127.0.0.1:1' }))).toMatch(
      /fail upstream: http:\/\/127\.0\.0\.1:1 does not respond \(ECONNREFUSED\), so its routes sell nothing → start your service, or correct upstream/,
    )
    const headless = createServer((_request, response) => void response.writeHead(501).end())
    expect(troubles(await examine(write(settings({ ...own(), upstream: await listen(headless) }))))).toEqual([])
    headless.close()
    const ill = createServer((_request, response) => void response.writeHead(503).end())
    const upstream = await listen(ill)
    expect(await broken(settings({ ...own(), upstream }))).toMatch(/warn upstream: .* responds \(503\)/)
    const health = { upstream, probe: { path: '/health' } }
    expect(await broken(settings({ ...own(), ...health }))).toMatch(
      /fail upstream: .*\/health does not report a healthy service \(503\), so its routes sell nothing → .*probe\.path/,
    )
    ill.close()
    const port = await freePort()
    const round = { upstream: `http://localhost:${port}`, listen: { host: '0.0.0.0', port } }
    expect(await broken(settings({ ...own(), ...round }))).toMatch(/is the gateway itself, so every request would loop/)
  })

  it('another program has the port, and paystile itself is no other', async () => {
    const rival = createServer((_request, response) => void response.end('{}'))
    const { port } = new URL(await listen(rival))
    const config = settings({ ...own(), listen: { host: '127.0.0.1', port: Number(port) } })
    expect(await broken(config)).toMatch(
      /fail port: another program uses 127\.0\.0\.1:\d+ → stop the program that uses \S+, or change listen/,
    )
    rival.removeAllListeners('request')
    let answer = { ready: true }
    let told: object | undefined = { network: 'devnet', service: 'default', genesis: 'another', identityKey: 'x' }
    rival.on('request', (request, response) => {
      if (!request.url?.startsWith('/.well-known')) return void response.end(JSON.stringify(answer))
      response.writeHead(told ? 200 : 503)
      response.end(JSON.stringify(told ?? {}))
    })
    const stranger =
      /fail port: another paystile service uses 127\.0\.0\.1:\d+, .* → stop the program that uses \S+, or change listen/
    expect(await broken(config)).toMatch(stranger)
    const keyring = openKeyring(secret, [])
    const identityKey = encodeBase58(createIdentity(keyring?.identitySeed ?? new Uint8Array()).publicKey)
    const mine = { network: 'devnet', service: 'default', genesis: genesisHashes.devnet, identityKey }
    for (const other of [{ network: 'mainnet' }, { service: 'b' }, { genesis: 'x' }, { identityKey: 'x' }]) {
      told = { ...mine, ...other }
      expect([other, await broken(config)]).toEqual([other, expect.stringMatching(stranger)])
    }
    told = undefined
    expect(await broken(config)).toMatch(/warn port: .* has not started uses 127\.0\.0\.1:\d+; it may be this one/)
    told = mine
    const report = await examine(write(config))
    expect(troubles(report)).toEqual([])
    expect(report.next).toEqual([`npx paystile pay http://127.0.0.1:${port}/api/hello`])
    answer = { ready: false }
    expect(await broken(config)).toMatch(/warn port: paystile already runs on .*, but is not ready to sell/)
    rival.close()
    expect(await broken(settings({ ...own(), listen: { host: '192.0.2.1' } }))).toMatch(
      /fail port: 192\.0\.2\.1 is not an address of this machine/,
    )
  })

  it('the public address is not https on mainnet, or not set', async () => {
    play('mainnet')
    await world.localnet.fund(recipient.address, { SOL: 1n })
    const config = settings({ network: 'mainnet', token: 'SOL', rpc: [node.url, node.url] })
    expect(await broken({ ...config, publicUrl: 'http://shop.example' })).toMatch(
      /fail publicUrl: .* is not https.* → set publicUrl: https/,
    )
    expect(await broken(config)).toMatch(/warn publicUrl: is not set/)
    expect(troubles(await examine(write({ ...config, rpc: node.url })))[0]).toMatch(
      /warn nodes: only one node is configured.* → add a second/,
    )
  })

  it.each([
    [600, 'behind', 'fail'],
    [40, 'behind', 'fail'],
    [-20, 'ahead of', 'warn'],
    [20, 'behind', 'warn'],
  ] as const)('T168: the clock is off by %d seconds', async (seconds, words, level) => {
    play('devnet', timeOff(seconds))
    const said = await broken(settings(own()))
    expect(said).toMatch(
      new RegExp(
        `^${level} clock: this machine's clock is [\\d.]+ s ${words} the chain.* → set the clock of this machine: timedatectl`,
      ),
    )
  })

  it('T174: a node that lags is no wrong clock', async () => {
    play('devnet', timeOff(-600))
    expect(troubles(await examine(write(settings(own())))).filter((one) => one.includes('clock'))).toEqual([])
  })

  it('a rate cannot be had', async () => {
    const config = { ...own(), acceptedMints: ['USDC', 'SOL'], rates: { source: 'pyth', url: 'http://127.0.0.1:1' } }
    const said = await broken(settings(config))
    expect(said).toMatch(
      /warn rates: SOL has no usable rate from pyth: .*; until then only USDC is accepted → check that pyth can be reached/,
    )
    const alone = await broken(settings({ ...config, acceptedMints: ['SOL'] }))
    expect(alone).toMatch(/^fail rates: SOL has no usable rate/)
    expect(troubles(await examine(write(settings({ ...config, rates: { SOL: '150' } }))))).toEqual([])
  })
})
