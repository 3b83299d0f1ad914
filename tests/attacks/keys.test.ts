/** Keys on disk: who only receives has none, and who has one tells it nobody. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { stringify } from 'yaml'
import { initAgentWallet } from '../../src/client/index.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import * as keyFile from '../../src/host/keys/key-file.ts'
import { create402Middleware, createPaystileRoutes } from '../../src/index.ts'
import { runHere } from '../cli/in-process.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import { createShopFixture, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

vi.mock('node:crypto', async (load) => (await import('../harness/quick-scrypt.ts')).quickScrypt(load))
vi.mock('../../src/host/keys/key-file.ts', { spy: true })

const { makeKeyFile, readKeyFile, viewKeyFile } = keyFile
const passphrase = 'correct horse battery'
let fixture: ShopFixture

beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())
afterEach(() => {
  vi.unstubAllEnvs()
  vi.clearAllMocks()
})

/** A key in every form in which one might print it. */
function spellings(key: Uint8Array): readonly string[] {
  const seed = Buffer.from(key.subarray(0, 32))
  const bytes = [...seed.subarray(0, 5)]
  const texts = [seed.toString('hex'), seed.toString('base64'), seed.toString('base64url'), encodeBase58(key)]
  return [...texts.map((text) => text.slice(0, 10)), encodeBase58(seed).slice(0, 10), bytes.join(','), bytes.join(', ')]
}

it('T146: a process that only receives reads no key file, even if one exists', async () => {
  for (const name of ['wallet.json', 'provider.json', 'payouts.json']) makeKeyFile(join(fixture.directory, name))
  vi.clearAllMocks()
  const shop = await fixture.open({ watch: true })
  const routes = createPaystileRoutes({
    network: 'localnet',
    rpc: fixture.world.localnet.rpcUrl,
    ledger: 'memory:',
    log: fixture.log,
  })
  expect((await routes.fetch(new Request('http://shop/readyz'))).status).toBeLessThan(504)
  await expectServed(shop.claim(await shop.buy(fixture.payer)))
  await routes.close()
  for (const reading of Object.values(keyFile)) {
    if (vi.isMockFunction(reading)) expect(reading).not.toHaveBeenCalled()
  }
  await initAgentWallet()
  expect(keyFile.withKeyFile).toHaveBeenCalledOnce()
})

it('T140, T146: a key is in no log, no error, no answer and nothing that can be inspected', async () => {
  vi.stubEnv('PAYSTILE_KEY_PASSPHRASE', passphrase)
  const paths = ['plain', 'sealed'].map((name) => join(fixture.directory, `${name}.json`))
  const [plain = '', sealed = ''] = paths
  makeKeyFile(plain)
  makeKeyFile(sealed, passphrase)
  const keys = paths.map((path) => readKeyFile(path))
  for (const path of paths) await fixture.world.localnet.fund(viewKeyFile(path).address, { SOL: 1_000_000_000n })
  const told: string[] = []
  const look = (value: unknown) =>
    told.push(inspect(value, { depth: Infinity, showHidden: true, maxArrayLength: null }))

  for (const accountKey of paths) {
    const { address } = await newSigner()
    const shop = await fixture.open({ accountKey, recipient: address })
    expect(keyFile.withKeyFile).toHaveBeenCalledWith(accountKey, expect.anything())
    told.push(await shop.metrics(), JSON.stringify(await shop.readiness()))
    const middleware = create402Middleware({
      price: 0.01,
      token: 'USDC',
      recipient: fixture.world.recipient.address,
      network: 'localnet',
      rpc: fixture.world.localnet.rpcUrl,
      ledger: 'memory:',
      accountKey,
      log: fixture.log,
    })
    fixture.defer(() => middleware.close())
    await middleware.ready()
    look(middleware)
    look(await initAgentWallet({ path: accountKey }))
  }

  // Files that are broken in ways in which a parser would repeat them.
  const text = readFileSync(plain, 'utf8')
  const broken = {
    halved: text.slice(0, 90),
    quoted: JSON.stringify(text),
    named: `{"key":${text}}`,
    swapped: swap(text),
  }
  for (const [name, content] of Object.entries(broken)) {
    const path = join(fixture.directory, `${name}.json`)
    writeFileSync(path, content, { mode: 0o600 })
    const failure = await initAgentWallet({ path }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(Error)
    look(failure)
    told.push(...(await outputOf('keys', 'show', path)), ...(await outputOf('wallet', 'show', path)))
  }
  const config = join(fixture.directory, 'paystile.yaml')
  const settings = { network: 'localnet', recipient: fixture.world.recipient.address, upstream: 'http://127.0.0.1:1' }
  const more = { rpc: fixture.world.localnet.rpcUrl, ledger: 'memory:', listen: { host: '127.0.0.1', port: 0 } }
  for (const accountKey of [...paths, ...Object.keys(broken).map((name) => join(fixture.directory, `${name}.json`))]) {
    const routes = [{ path: '/api', price: 0.01, token: 'USDC' }]
    writeFileSync(config, stringify({ ...settings, ...more, accountKey, routes }))
    told.push(...(await outputOf('doctor', config)))
  }
  vi.stubEnv('PAYSTILE_KEY_PASSPHRASE', 'a quite different passphrase')
  look(await initAgentWallet({ path: sealed }).catch((error: unknown) => error))

  const all = [...told, ...fixture.logged].join('\n')
  expect(all).toContain('the key file is usable')
  expect(all).toContain('the passphrase is wrong')
  for (const key of keys) for (const spelling of spellings(key)) expect(all).not.toContain(spelling)
  for (const word of [passphrase, 'a quite different passphrase']) expect(all).not.toContain(word)
})

/** A good secret half under somebody else's public half. */
function swap(text: string): string {
  const numbers = JSON.parse(text) as number[]
  return JSON.stringify([...numbers.slice(0, 32), ...numbers.slice(32).reverse()])
}

async function outputOf(...args: readonly string[]): Promise<readonly string[]> {
  const { stdout, stderr } = await runHere(args, { isTerminal: true })
  return [stdout, stderr]
}
