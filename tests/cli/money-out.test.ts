/** What is owed and goes out, by the command line alone: a gateway that sells, a worker that pays, an audit, a refund. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { createWallet } from '../../src/chain/keys/keypair.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { GatewayConfig } from '../../src/gateway/config/schema.ts'
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts'
import { makeKeyFile, withKeyFile } from '../../src/host/keys/key-file.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner, proofOf } from '../harness/localnet-fixture.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { runHere } from './in-process.ts'

const home = useTemporaryHome()
const file = join(home.path, 'paystile.yaml')
const keyFile = join(home.path, 'payout.json')
let world: LocalnetFixture
let upstream: Server
let gateway: Gateway
let payer: KeyPairSigner
let partner: KeyPairSigner
let url: string

beforeAll(async () => {
  world = await createLocalnetFixture()
  const { localnet, recipient } = world
  payer = await world.person()
  partner = await newSigner()
  makeKeyFile(keyFile)
  const { address } = await withKeyFile(keyFile, createWallet)
  await localnet.fund(address, { SOL: 10n ** 9n, NATIVE: 10n ** 13n, USDC: 10n ** 9n })
  await localnet.fund(partner.address, { NATIVE: 0n })
  upstream = createServer((_request, response) => response.end('the report')).listen(0, '127.0.0.1')
  await new Promise((resolve) => upstream.once('listening', resolve))
  const rest = async (weight: number) => ({ wallet: (await newSigner()).address, weight })
  const config = {
    network: 'localnet',
    rpc: localnet.rpcUrl,
    ledger: join(home.path, 'ledger.sqlite'),
    recipient: recipient.address,
    token: 'USDC',
    upstream: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    listen: { port: 0 },
    rewards: {
      partners: [{ name: 'acme', wallet: partner.address, share: 90 }],
      cashback: { 0: 5 },
      treasury: await rest(1),
      buyback: await rest(1),
      incentives: await rest(1),
      everySeconds: 1,
    },
    routes: [{ path: '/report', price: 100, partner: 'acme' }],
  } satisfies GatewayConfig
  // The gateway has no key: the worker has.
  gateway = createGateway(config)
  url = await gateway.listen()
  writeFileSync(file, stringify({ ...config, rewards: { ...config.rewards, key: keyFile }, refundKey: keyFile }))
})
afterAll(async () => {
  await gateway?.close()
  upstream?.close()
  await world?.close()
  home.remove()
})

async function run(...args: readonly string[]) {
  const { code, stdout, stderr } = await runHere([...args, '--json'])
  const lines = stderr.trim().split('\n')
  return { code, result: stdout === '' ? undefined : JSON.parse(stdout), notes: lines }
}

async function buy(): Promise<string> {
  const challenge = (await (await fetch(`${url}/report`)).json()) as Challenge
  const tx = await world.pay(challenge, payer)
  world.localnet.advanceSlots(40)
  const response = await fetch(`${url}/report`, { headers: { 'Payment-Proof': proofOf(tx, challenge, payer) } })
  expect([response.status, await response.text()]).toEqual([200, 'the report'])
  return tx
}

describe('rewards', () => {
  it('are owed, shown, paused and tried out by commands', async () => {
    await buy()
    const accrued = async () => {
      const { roles } = (await run('rewards', 'show', '--config', file)).result
      return roles.find(({ role }: { readonly role: string }) => role === 'partner').accrued
    }
    await expect.poll(accrued, { timeout: 20_000, interval: 40 }).toBe('900')
    const paused = await run('rewards', 'pause', '--config', file)
    expect([paused.code, paused.result]).toEqual([0, { ok: true, paused: true }])
    expect((await run('rewards', 'show', '--config', file)).result).toMatchObject({ paused: true, ripening: 0 })
    expect((await run('rewards', 'resume', '--config', file)).result).toEqual({ ok: true, paused: false })
    const tried = await run('worker', file, '--dry-run')
    expect(tried.code).toBe(0)
    const { lines } = tried.result as { lines: { role: string; owed: string; sent: string }[] }
    expect(lines.find(({ role }) => role === 'partner')).toMatchObject({ owed: '900', sent: '900' })
    expect(lines.find(({ role }) => role === 'cashback')).toMatchObject({ owed: '50', sent: '50' })
  })

  it('are simulated and shown without a key, with the waiting payees and the reasons', async () => {
    const { rewards, ...rest } = parse(readFileSync(file, 'utf8')) as { readonly rewards: object }
    const keyless = join(home.path, 'keyless.yaml')
    writeFileSync(keyless, stringify({ ...rest, rewards: { ...rewards, threshold: 100, key: undefined } }))
    const why = 'the amount is below the threshold of 100 NATIVE'
    const waits = { role: 'cashback', owed: '50', why, until: null }
    const tried = await run('worker', keyless, '--dry-run')
    expect(tried.result).toMatchObject({
      ok: true,
      wallet: null,
      waiting: expect.arrayContaining([expect.objectContaining(waits)]),
    })
    const shown = await run('rewards', 'show', '--config', keyless)
    expect(shown.result).toMatchObject({
      isAll: true,
      waiting: expect.arrayContaining([expect.objectContaining(waits)]),
    })
    const seen = await runHere(['worker', keyless, '--dry-run'], { isTerminal: true })
    expect(seen.stdout).toMatch(/1 payee would be paid 900 NATIVE\. Nothing was sent\.\nThis process has no payout key/)
    expect(seen.stdout).toMatch(
      /Waiting payees:\n +role +payee +owed +why\n(.*\n)*? +cashback +\S+ +50 +the amount is below/,
    )
  })

  it('agree with the chain', async () => {
    const audit = await run('rewards', 'audit', '--config', file)
    expect([audit.code, audit.result]).toEqual([
      0,
      { ok: true, accruals: 1, payouts: 0, refunded: [], problems: [], unknown: [] },
    ])
  })
})

describe('a refund', () => {
  it('is refused for a delivered payment, with the reason', async () => {
    const tx = await buy()
    const refused = await run('refund', tx, '--config', file)
    expect(refused.code).toBe(5)
    expect(refused.notes.join()).toContain('The payment cannot be refunded: ')
  })

  it('returns an unmatched payment once, for any number of runs', async () => {
    const instruction = await world.transfer(payer, world.recipient.address, 'USDC', 7_000_000n)
    const tx = await world.send([instruction], payer)
    world.localnet.advanceSlots(40)
    const first = async () => (await run('refund', tx, '--config', file)).code
    const slots = setInterval(() => world.localnet.advanceSlots(5), 20)
    try {
      await expect.poll(first, { timeout: 20_000, interval: 40 }).toBe(0)
      const again = await run('refund', tx, '--config', file)
      expect(again.result).toMatchObject({ ok: true, state: 'landed', token: 'USDC', amount: '7', reason: 'unmatched' })
    } finally {
      clearInterval(slots)
    }
  })

  it('is not sent again from a restored ledger, which takes it over by a command', async () => {
    const instruction = await world.transfer(payer, world.recipient.address, 'USDC', 3_000_000n)
    const tx = await world.send([instruction], payer)
    world.localnet.advanceSlots(40)
    const backup = join(home.path, 'backup.sqlite')
    const db = new DatabaseSync(join(home.path, 'ledger.sqlite'))
    db.exec(`VACUUM INTO '${backup}'`)
    db.close()
    const restored = ['--config', file, '--ledger', backup]
    const slots = setInterval(() => world.localnet.advanceSlots(5), 20)
    try {
      const first = async () => (await run('refund', tx, '--config', file)).code
      await expect.poll(first, { timeout: 20_000, interval: 40 }).toBe(0)
      world.localnet.advanceSlots(40)
      const listed = await run('rewards', 'adopt', '--dry-run', ...restored)
      expect(listed.result.transactions).toHaveLength(1)
      const adopted = await run('rewards', 'adopt', ...restored)
      const [{ receipts }] = adopted.result.transactions
      const amounts = { received: '3 USDC', settled: '0 USDC', cashback: '0 USDC' }
      expect(receipts).toEqual([{ wallet: payer.address, refunded: tx, ...amounts }])
      expect((await run('rewards', 'adopt', ...restored)).result).toEqual({ ok: true, transactions: [] })
      expect((await run('rewards', 'show', ...restored)).result).toMatchObject({ paused: false })
      expect((await run('rewards', 'adopt', '--config', file)).result).toEqual({ ok: true, transactions: [] })
    } finally {
      clearInterval(slots)
    }
  })

  it.each([
    ['a transaction that is none', ['refund', 'nonsense'], 2, 'is not a transaction signature'],
    [
      'a payment that nobody has seen',
      ['refund', encodeBase58(new Uint8Array(64).fill(7))],
      5,
      'has not seen that payment',
    ],
  ])('tells of %s', async (_what, args, code, message) => {
    const ended = await run(...args, '--config', file)
    expect([ended.code, ended.notes.join()]).toEqual([code, expect.stringContaining(message)])
  })
})
