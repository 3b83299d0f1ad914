/** Found in the second audit: ways in which a client could be made to pay twice, or to wait for ever. */
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { fetchTransport } from '../../src/chain/rpc/fetch-transport.ts'
import { createRpc } from '../../src/chain/rpc/rpc.ts'
import { readFate } from '../../src/chain/send/send.ts'
import { createFetchWith402 } from '../../src/client/fetch.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import { openFileJournal } from '../../src/client/journal/file.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import { createNodes } from '../../src/client/nodes.ts'
import { processName } from '../../src/host/alive.ts'
import { buy, type ClientFixture, challengeFor, createClientFixture, expectError, hasProof } from './client-fixture.ts'

let fixture: ClientFixture
beforeAll(async () => {
  fixture = await createClientFixture()
})
beforeEach(async () => {
  await fixture.received()
})
afterAll(() => fixture.close())

it('T159: a 304 gave the payment back, and the next call uses it', async () => {
  let unchanged = true
  const shop = await fixture.open({ waitSeconds: 5 }, undefined, () =>
    unchanged ? { status: 304, headers: { etag: '"1"' } } : { body: 'the secret' },
  )
  const [options, init] = [fixture.options(), { headers: { 'if-none-match': '"1"' } }]
  expect((await fetchWith402(`${shop.url}/data`, init, options)).status).toBe(304)
  unchanged = false
  expect(await (await fetchWith402(`${shop.url}/data`, init, options)).text()).toBe('the secret')
  expect(await fixture.received()).toBe(1)
})

it('T159: a payment with a signature of a wrong clock is kept, and used when the clock is right', async () => {
  const shop = await fixture.open({ waitSeconds: 5 })
  const front = await fixture.front(shop.url, (_request, response, pass) => {
    pass((answer) => {
      const { date: _, ...headers } = answer.headers
      response.sendDate = false
      response.writeHead(answer.statusCode ?? 500, headers)
      answer.pipe(response)
    })
    return true
  })
  let off = -600_000
  const clock = { now: () => Date.now() + off, monotonic: () => performance.now() }
  const nodes = createNodes({ transport: fetchTransport, findLocalnet: () => undefined })
  const buyer = createFetchWith402({ clock, nodes, journal: async () => createMemoryJournal(), defaultRpc: undefined })
  const options = fixture.options({ proof: 'sig' })
  const error = await expectError(buyer(`${front}/data`, options), 'payment_refused')
  expect(error.facts.refusal).toBe('signature_invalid')
  off = 0
  expect((await buyer(`${front}/data`, options)).status).toBe(200)
  expect(await fixture.received()).toBe(1)
})

it('T166: a server does not choose a time years away for us to sign', async () => {
  const signed: string[] = []
  const evil = await fixture.host((request, response) => {
    if (!hasProof(request)) {
      response.writeHead(402, { 'content-type': 'application/json' })
      return response.end(challengeFor(fixture, `http://${request.headers.host}${request.url}`, { proof: ['sig'] }))
    }
    signed.push(/ts=(\d+)/.exec(String(request.headers['payment-proof']))?.[1] ?? '')
    const problem = {
      type: 'urn:paystile:problem:signature_invalid',
      code: 'signature_invalid',
      retryable: false,
      detail: 'No.',
    }
    response.writeHead(403, { 'content-type': 'application/problem+json', date: 'Sun, 01 Jan 2040 00:00:00 GMT' })
    return response.end(JSON.stringify(problem))
  })
  await expectError(fetchWith402(`${evil}/data`, fixture.options({ proof: 'sig' })), 'payment_refused')
  expect(signed.map((ts) => Math.abs(Number(ts) - Date.now() / 1000) < 60)).toEqual([true])
})

it('a 402 or a refusal that never ends does not hold us up, and is not read without end', async () => {
  const endless = await fixture.host((request, response) => {
    if (!hasProof(request) && request.url === '/refusal') {
      response.writeHead(402, { 'content-type': 'application/json' })
      return response.end(challengeFor(fixture, `http://${request.headers.host}${request.url}`))
    }
    const refused = hasProof(request)
    response.writeHead(refused ? 403 : 402, { 'content-type': `application/${refused ? 'problem+' : ''}json` })
    return response.write(request.url === '/much' ? ' '.repeat(100_000) : '{')
  })
  for (const path of ['/challenge', '/much', '/refusal']) {
    const response = await fetchWith402(`${endless}${path}`, fixture.options({ timeoutMs: 200 }))
    expect([path, response.status]).toEqual([path, path === '/refusal' ? 403 : 402])
    await response.body?.cancel()
  }
  expect(await fixture.received()).toBe(1)
})

it('T159: a holder with a process id that another process has by now is dead, and its payment is taken over', async () => {
  const shop = await fixture.open({ waitSeconds: 5 })
  const path = join(fixture.directory, 'reborn.sqlite')
  let down = true
  const front = await fixture.front(shop.url, (request, response) => {
    if (!down || !hasProof(request)) return false
    response.writeHead(500).end()
    return true
  })
  const options = () => fixture.options({ journal: openFileJournal(path), timeoutMs: 500 })
  await expectError(fetchWith402(`${front}/data`, options()), 'paid_not_delivered')
  const database = new DatabaseSync(path)
  database.prepare('update intents set holder = ?').run(`${process.ppid}:1`)
  database.close()
  expect(processName(process.ppid)).not.toBe(`${process.ppid}:1`)
  down = false
  expect((await buy(`${front}/data`, options())).text).toBe('the secret')
  expect(await fixture.received()).toBe(1)
})

it('T159: a payment is not dead because one node said so beforehand', async () => {
  const { world } = fixture
  const { value } = await world.rpc<{ value: { blockhash: string } }>('getLatestBlockhash', [
    { commitment: 'confirmed' },
  ])
  const rpc = createRpc({ urls: [world.localnet.rpcUrl], transport: fetchTransport })
  const { signPayment } = await import('../../src/chain/wallets/payment.ts')
  const { toWallet } = await import('../../src/client/wallet.ts')
  const order = {
    blockhash: value.blockhash,
    lastValidBlockHeight: 0,
    slot: world.localnet.slot(),
    requestId: 'rid',
    recipient: world.recipient.address,
  }
  const token = { asset: 'SOL', units: 1_000_000n, decimals: 9 } as const
  const payment = await signPayment({ ...order, token }, await toWallet(fixture.payer))
  expect(await readFate({ rpc, genesis: world.localnet.genesisHash }, payment)).toMatchObject({ kind: 'unknown' })
})
