/** A service on which everything goes wrong at once, and which tells its secrets neither to its log nor to its callers. */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { adapters, type Serve } from '../harness/adapters.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { startPostgres } from '../harness/postgres.mjs'
import { createShopFixture, type ShopFixture, serveNode } from '../harness/shop-fixture.ts'

/** Here the handler runs inside the paywall, which catches what it throws. */
const serveNext = adapters.find(([name]) => name === 'Next')?.[1] as Serve
const word = () => randomBytes(18).toString('hex')
const apiKey = word()
const password = word()
const secret = word()
const handlerKey = word()
let shop: ShopFixture
let output = ''

beforeAll(async () => {
  shop = await createShopFixture()
})
afterAll(() => shop.close())
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** All that this process writes, as an operator's log collector gets it. */
function listen(): void {
  output = ''
  const note = (bytes: string | Uint8Array): boolean => {
    output += String(bytes)
    return true
  }
  vi.spyOn(process.stderr, 'write').mockImplementation(note)
  vi.spyOn(process.stdout, 'write').mockImplementation(note)
}

/** Everything that a caller is told. */
async function tell(answer: Promise<Response>): Promise<string> {
  const response = await answer
  return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}\n`
}

it('T140, T142: a node that fails, proofs that are refused and a handler that throws give nothing away', async () => {
  const dead = await shop.fakeNode()
  dead.behave(() => ({ status: 500, body: `https://rpc.example.com/v2/${apiKey} is out of credits` }))
  listen()
  vi.stubEnv('PAYSTILE_SECRET', `1:${secret}`)
  const other = await shop.fakeNode()
  const served = await serveNext(
    {
      price: 0.01,
      token: 'USDC',
      recipient: shop.world.recipient.address,
      network: 'localnet',
      rpc: [`${dead.url}/v2/${apiKey}?api-key=${apiKey}`, shop.world.localnet.rpcUrl, other.url],
      ledger: 'memory:',
      waitSeconds: 0,
      onEvent: () => {
        throw new Error(`cannot post to https://hooks.example.com/${apiKey} with Bearer ${apiKey}`)
      },
    },
    () => {
      throw new Error(`no route to postgres://shop:${handlerKey}@db/shop`)
    },
  )
  await served.ready()
  const claim = word()
  const tx = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
  const asked = (await (await fetch(`${served.url}/data`)).json()) as { requestId: string; recipient: string }
  const payer = shop.payer.address
  const proofs = [
    `tx=${tx}; requestId=${asked.requestId}; payer=${payer}; claim=${claim}`,
    `tx=${tx}; requestId=${asked.requestId}; payer=${payer}; sig=${tx}; ts=1`,
    `tx=${tx}; requestId=${'A'.repeat(120)}; payer=${payer}; claim=${claim}`,
    `claim=${claim}`,
  ]
  let told = ''
  for (const proof of proofs) told += await tell(fetch(`${served.url}/data`, { headers: { 'Payment-Proof': proof } }))
  const challenge = (await (await fetch(`${served.url}/data`)).json()) as Parameters<typeof proofOf>[1]
  const paid = proofOf(await shop.world.pay(challenge, shop.payer), challenge, shop.payer)
  for (let times = 0; times < 2; times += 1) {
    told += await tell(fetch(`${served.url}/data`, { headers: { 'Payment-Proof': paid } }))
  }
  told += await served.metrics()
  told += JSON.stringify(await served.readiness())
  await served.close()
  expect(output).toContain('node 1')
  expect(output).toContain('handler.failed')
  expect(output).toContain('on_event.failed')
  for (const text of [output, told]) {
    for (const one of [apiKey, secret, claim, handlerKey, payer, dead.url]) expect(text).not.toContain(one)
  }
  expect(told).not.toMatch(/postgres:|hooks\.example|rpc\.example|node_modules|at \w+ \(/)
})

it('T140, T142: a database that does not know the password, and one that is not there, give nothing away', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-hba-'))
  chmodSync(folder, 0o755)
  const rules = join(folder, 'hba.conf')
  writeFileSync(rules, 'host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n')
  const postgres = await startPostgres(['-c', `hba_file=${rules}`])
  shop.defer(() => postgres.close())
  shop.defer(() => rmSync(folder, { recursive: true, force: true }))
  await postgres.sql(`CREATE ROLE shop LOGIN PASSWORD '${word()}'`)
  listen()
  let told = ''
  const places = [
    `postgres://shop:${password}@127.0.0.1:${postgres.port}/postgres`,
    `postgres://shop:${password}@127.0.0.1:1/postgres`,
    `postgres://shop:${password}@/x@127.0.0.1:${postgres.port}/postgres`,
    `mysql://shop:${password}@127.0.0.1/postgres`,
  ]
  for (const ledger of places) {
    const open = async (): Promise<string> => {
      const served = await serveNode(
        {
          price: 0.01,
          token: 'USDC',
          recipient: shop.world.recipient.address,
          network: 'localnet',
          rpc: shop.world.localnet.rpcUrl,
          ledger,
        },
        () => ({ body: 'the secret' }),
      )
      const why = await served.ready().catch(String)
      const answer = await tell(fetch(`${served.url}/data`, { headers: { 'Payment-Proof': 'tx=1' } }))
      told += answer
      // What is for the operator may name the database, and still not its password.
      const { why: reason } = await served.readiness()
      await served.close()
      return `${why} ${reason}`
    }
    output += await open().catch(String)
  }
  expect(output).toContain('cannot start')
  expect(output).not.toContain(password)
  expect(told).toContain('503')
  expect(told).not.toContain(password)
  expect(told).not.toMatch(/127\.0\.0\.1|postgres:\/\/|password/)
})
