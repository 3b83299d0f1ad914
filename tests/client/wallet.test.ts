/** Wallets: the key file of an agent, and everything else that can sign. */
import { createPrivateKey, sign } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Keypair } from '@solana/web3.js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { initAgentWallet } from '../../src/client/agent-wallet.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { decodeAddress, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { makeKeyFile } from '../../src/host/keys/key-file.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { type ClientFixture, challengeFor, createClientFixture, expectError } from './client-fixture.ts'

let fixture: ClientFixture
let shop: Shop
let files = 0

beforeAll(async () => {
  fixture = await createClientFixture()
  shop = await fixture.open({ waitSeconds: 5 })
})
afterEach(() => {
  process.env['PAYSTILE_HOME'] = fixture.directory
  delete process.env['PAYSTILE_WALLET']
})
afterAll(() => fixture.close())

function newPath(): string {
  files += 1
  return join(fixture.directory, `keys-${files}`, 'wallet.json')
}
const numbersOf = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as number[]

describe("an agent's key file", () => {
  it('is made once, for its owner only, in the form of Solana’s own tools', async () => {
    const path = newPath()
    const made = await initAgentWallet({ path })
    expect(made).toMatchObject({ path, created: true })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(path, '..'))).toEqual(['wallet.json'])
    const numbers = numbersOf(path)
    expect(numbers).toHaveLength(64)
    expect(Keypair.fromSecretKey(Uint8Array.from(numbers)).publicKey.toBase58()).toBe(made.address)
    expect(encodeBase58(Uint8Array.from(numbers.slice(32)))).toBe(made.address)
    expect(await initAgentWallet({ path })).toMatchObject({ address: made.address, created: false })
    const text = new TextEncoder().encode('hello')
    expect(createVerifier()(decodeAddress(made.address) as Uint8Array, text, await made.signMessage(text))).toBe(true)
    expect(JSON.stringify(made)).not.toContain(numbers.slice(0, 2).join())
  })

  it('of Solana’s own tools is taken as it is', async () => {
    const path = newPath()
    const pair = Keypair.generate()
    mkdirSync(join(path, '..'))
    writeFileSync(path, JSON.stringify([...pair.secretKey]), { mode: 0o600 })
    expect((await initAgentWallet({ path })).address).toBe(pair.publicKey.toBase58())
  })

  it('is where the environment says', async () => {
    process.env['PAYSTILE_HOME'] = join(fixture.directory, 'elsewhere')
    const byHome = await initAgentWallet()
    expect(byHome.path).toBe(join(fixture.directory, 'elsewhere', 'wallet.json'))
    process.env['PAYSTILE_WALLET'] = newPath()
    const byName = await initAgentWallet()
    expect(byName.path).toBe(process.env['PAYSTILE_WALLET'])
    expect(byName.address).not.toBe(byHome.address)
    const given = newPath()
    expect((await initAgentWallet({ path: given })).path).toBe(given)
  })

  it('is never overwritten, not even by twenty parallel calls', async () => {
    const path = newPath()
    const wallets = await Promise.all(Array.from({ length: 20 }, () => initAgentWallet({ path })))
    expect(new Set(wallets.map((wallet) => wallet.address)).size).toBe(1)
    expect(wallets.filter((wallet) => wallet.created)).toHaveLength(1)
    const before = readFileSync(path, 'utf8')
    expect(makeKeyFile(path)).toBe(false)
    expect(readFileSync(path, 'utf8')).toBe(before)
    const link = join(path, '..', 'link.json')
    symlinkSync(join(path, '..', 'gone.json'), link)
    expect(makeKeyFile(link)).toBe(false)
    expect(readdirSync(join(path, '..')).sort()).toEqual(['link.json', 'wallet.json'])
  })

  it('is not made where that was not wanted', async () => {
    const path = newPath()
    await expect(initAgentWallet({ path, create: false })).rejects.toThrow(
      `does not exist; create it with npx paystile keys new ${path}.`,
    )
    expect(existsSync(path)).toBe(false)
  })

  it('is never a directory, and the permissions of a directory stay', async () => {
    const path = newPath()
    mkdirSync(path, { recursive: true, mode: 0o755 })
    for (const create of [true, false]) {
      await expect(initAgentWallet({ path, create })).rejects.toThrow(
        `The key file ${path} cannot be read: it is a directory; choose a file.`,
      )
    }
    expect(readdirSync(join(path, '..'))).toEqual(['wallet.json'])
  })

  const good = () => [...Keypair.generate().secretKey]
  it.each<[string, () => string, number, RegExp]>([
    ['others can read', () => JSON.stringify(good()), 0o644, /other users can read it; run chmod 600/],
    ['its group can read', () => JSON.stringify(good()), 0o640, /other users can read it/],
    ['others can write', () => JSON.stringify(good()), 0o602, /other users can read it/],
    ['is empty', () => '', 0o600, /contains neither 64 numbers/],
    ['is no JSON', () => '[1,2', 0o600, /contains neither 64 numbers/],
    ['is an object', () => '{"secret":1}', 0o600, /contains neither 64 numbers/],
    ['is a seed', () => JSON.stringify(good().slice(32)), 0o600, /contains neither 64 numbers/],
    ['has a number too many', () => JSON.stringify([...good(), 1]), 0o600, /contains neither 64 numbers/],
    ['has a number too large', () => JSON.stringify([256, ...good().slice(1)]), 0o600, /contains neither 64 numbers/],
    ['has half a number', () => JSON.stringify([0.5, ...good().slice(1)]), 0o600, /contains neither 64 numbers/],
    [
      'is of two halves',
      () => JSON.stringify([...good().slice(0, 32), ...good().slice(32)]),
      0o600,
      /public half of the key does not belong/,
    ],
  ])('that %s is refused in one sentence that names it and holds nothing of it', async (_name, text, mode, words) => {
    const path = newPath()
    mkdirSync(join(path, '..'))
    const content = text()
    writeFileSync(path, content)
    chmodSync(path, mode)
    const error = await initAgentWallet({ path }).then(
      () => new Error('it was taken'),
      (reason: Error) => reason,
    )
    expect(error.message).toMatch(words)
    expect(error.message).toMatch(/^The key file .*\.$/)
    expect(error.message).toContain(path)
    expect(error.message).not.toMatch(/\d+,\s*\d+/)
    expect(readFileSync(path, 'utf8')).toBe(content)
  })
})

/** What a browser extension offers a page: it takes whole transactions and gives them back signed. */
function extension(secret: Uint8Array) {
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), secret.subarray(0, 32)])
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  const publicKey = secret.slice(32)
  const signTransaction = async ({ transaction }: { transaction: Uint8Array }) => {
    const signedTransaction = Uint8Array.from(transaction)
    signedTransaction.set(sign(null, transaction.subarray(65), key), 1)
    return [{ signedTransaction }]
  }
  const signMessage = async ({ message }: { message: Uint8Array }) => [
    { signature: new Uint8Array(sign(null, message, key)) },
  ]
  const features = { 'solana:signTransaction': { signTransaction }, 'solana:signMessage': { signMessage } }
  return { account: { address: encodeBase58(publicKey), publicKey }, wallet: { features } }
}

describe('a wallet', () => {
  const secretOf = () => Uint8Array.from(Keypair.generate().secretKey)
  it.each<[string, () => Promise<ClientOptions['wallet']> | ClientOptions['wallet'], (wallet: never) => string]>([
    ['a kit signer', () => newSigner(), (wallet: { address: string }) => wallet.address],
    ['a web3.js Keypair', () => Keypair.generate(), (wallet: Keypair) => wallet.publicKey.toBase58()],
    ['64 bytes', secretOf, (wallet: Uint8Array) => encodeBase58(wallet.slice(32))],
    ['64 numbers', () => [...secretOf()], (wallet: number[]) => encodeBase58(Uint8Array.from(wallet.slice(32)))],
    ['an agent’s', () => initAgentWallet({ path: newPath() }), (wallet: { address: string }) => wallet.address],
    [
      'an account of a browser wallet',
      () => extension(secretOf()),
      (wallet: ReturnType<typeof extension>) => wallet.account.address,
    ],
  ])('that is %s pays, and proves it by a secret or by its signature', async (_name, make, addressOf) => {
    const wallet = await make()
    await fixture.world.localnet.fund(addressOf(wallet as never), { SOL: 1_000_000_000n, USDC: 1_000_000n })
    await fixture.received()
    for (const proof of ['claim', 'sig'] as const) {
      const response = await fetchWith402(`${shop.url}/data`, fixture.options({ wallet, proof }))
      expect(await response.text()).toBe('the secret')
    }
    expect(await fixture.received()).toBe(2)
  })

  it.each(['by the caller', 'by the server'])(
    'T234: that cannot sign messages pays nothing if its signature is required %s',
    async (byWhom) => {
      const secret = secretOf()
      const { account, wallet } = extension(secret)
      const { 'solana:signTransaction': signer } = wallet.features
      const signers = [
        { account, wallet: { features: { 'solana:signTransaction': signer } } },
        { address: account.address, signTransaction: () => expect.fail('it signed') },
      ] as never[]
      await fixture.world.localnet.fund(account.address, { SOL: 1_000_000_000n, USDC: 1_000_000n })
      const host = await fixture.host((request, response) => {
        const url = `http://${request.headers.host}${request.url}`
        response.writeHead(402).end(challengeFor(fixture, url, { proof: ['sig'] }))
      })
      for (const signing of signers) {
        const options = fixture.options({ wallet: signing })
        if (byWhom === 'by the server')
          await expectError(fetchWith402(host, options), 'declined', /cannot sign messages/)
        else
          await expect(fetchWith402(host, { ...options, proof: 'sig' })).rejects.toThrow(
            new TypeError("fetchWith402: this wallet cannot sign messages; set proof to 'claim'."),
          )
      }
      expect(await fixture.received()).toBe(0)
    },
  )

  it.each<[string, () => unknown, RegExp]>([
    ['a name', () => 'me', /wallet must be the result of initAgentWallet/],
    ['null', () => null, /wallet must be the result of initAgentWallet/],
    ['a public key', () => Keypair.generate().publicKey, /wallet must be the result of initAgentWallet/],
    ['too few bytes', () => new Uint8Array(63), /a key has 64 bytes/],
    ['bytes of two keys', () => Uint8Array.from([...secretOf().slice(0, 32), ...secretOf().slice(32)]), /public half/],
    [
      'a Keypair of two keys',
      () => ({ secretKey: secretOf(), publicKey: Keypair.generate().publicKey }),
      /public half/,
    ],
    ['a browser wallet without its features', () => ({ account: { address: 'x' } }), /cannot sign Solana transactions/],
    ['an address that is none', () => ({ address: 'x', signTransaction: () => {} }), /has no Solana address/],
    [
      'a browser wallet of another chain',
      () => ({ account: { address: 'x', publicKey: [] }, wallet: { features: {} } }),
      /cannot sign Solana transactions/,
    ],
  ])('that is %s is refused before anything is sent', async (_name, make, words) => {
    const attempt = fetchWith402(`${shop.url}/data`, fixture.options({ wallet: make() as never }))
    await expect(attempt).rejects.toThrow(words)
    await expect(attempt).rejects.toBeInstanceOf(TypeError)
  })
})
