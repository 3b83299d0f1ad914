// `npm run torture -- --seconds 60 --json`: servers and their database are killed under load, again and again. Afterwards
// every payment is looked at from outside: it was served, or can still be claimed; and never twice.
//   --seconds N   how long (60)      --servers N  how many (4; with --sqlite always 1)
//   --sqlite      one file instead of PostgreSQL  --least N    payments below which the run proves nothing (500)
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { DatabaseSync } from '@photostructure/sqlite'
import { generateKeyPairSigner } from '@solana/kit'
import pg from 'pg'
import { fetchTransport } from '../../dist/chain/fetch-transport.js'
import { createWallet } from '../../dist/chain/keypair.js'
import { signPayment } from '../../dist/chain/payment.js'
import { createRpc } from '../../dist/chain/rpc.js'
import { confirm, readLifetime, submit } from '../../dist/chain/send.js'
import { decodeSignature } from '../../dist/core/base58.js'
import { createWallClock } from '../../dist/host/clock.js'
import { startPostgres } from '../harness/postgres.mjs'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    servers: { type: 'string', default: '4' },
    least: { type: 'string', default: '500' },
    sqlite: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)
const count = values.sqlite ? 1 : Number(values.servers)
const leaseSeconds = 2
const clients = 8
const serverKillMs = 320
const databaseKillMs = 6_000
const home = mkdtempSync(join(tmpdir(), 'paystile-torture-'))
process.env.PAYSTILE_HOME = home
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const say = (line) => values.json || process.stderr.write(`${line}\n`)
const here = (name) => fileURLToPath(new URL(name, import.meta.url))

const localnet = fork(here('../../bench/localnet.mjs'), ['50'], { stdio: ['ignore', 2, 2, 'ipc'] })
const [chain] = await once(localnet, 'message')
const fund = async (address, amounts) => {
  localnet.send({ address, amounts })
  await once(localnet, 'message')
}
const recipient = (await newWallet()).address
await fund(recipient, { SOL: '1000000000', USDC: '0' })
const wallets = []
for (let index = 0; index < clients; index += 1) {
  wallets.push(await newWallet())
  await fund(wallets[index].address, { SOL: '100000000000', USDC: '1000000000000' })
}

const postgres = values.sqlite ? undefined : await startPostgres()
const ledger = postgres ? await postgres.place() : join(home, 'ledger.sqlite')
const provider = { recipient, rpc: chain.rpcUrl, ledger, secret: `1:${randomBytes(32).toString('hex')}`, leaseSeconds }
const servers = await Promise.all(Array.from({ length: count }, async () => ({ port: await freePort() })))
/** When which process was killed. */
const deaths = new Map()
const tally = { serverKills: 0, databaseKills: 0, payments: 0, doubles: 0, losses: 0, unservable: 0 }

await Promise.all(servers.map(start))
const end = Date.now() + seconds * 1000
const rpc = createRpc({ urls: [chain.rpcUrl], transport: fetchTransport })
const clock = createWallClock()
const payments = []
const claims = new Set()
const mostClaims = 96
const linesPerPayment = 4
say(`${count} servers on ${postgres ? 'PostgreSQL' : 'SQLite'}, ${clients} clients, ${seconds} s`)
await Promise.all([killServers(), killDatabase(), ...wallets.map(pay)])
await Promise.all(claims)
say('all quiet; one lease later every payment is looked at')
await pause(leaseSeconds * 1000 + 500)
const file = postgres ? undefined : new DatabaseSync(ledger, { readOnly: true })
const database = postgres ? new pg.Client({ connectionString: ledger }) : undefined
await database?.connect()
await audit()
await database?.end()
file?.close()

if (tally.payments < Number(values.least)) {
  say(`only ${tally.payments} payments were made: that proves nothing`)
  process.exitCode = 1
}
if (tally.doubles + tally.losses + tally.unservable > 0) process.exitCode = 1
for (const { child } of servers) child?.kill('SIGKILL')
await postgres?.close()
localnet.disconnect()
rmSync(home, { recursive: true, force: true })
process.stdout.write(`${JSON.stringify(tally)}\n`)
process.exit()

async function start(server) {
  const options = JSON.stringify({ ...provider, port: server.port })
  const child = fork(here('server.mjs'), [options], { stdio: ['ignore', 2, 2, 'ipc'] })
  server.child = child
  await Promise.race([once(child, 'message'), once(child, 'exit')])
}

async function killServers() {
  for (let turn = 0; Date.now() < end; turn += 1) {
    await pause(serverKillMs * (0.5 + Math.random()))
    const server = servers[turn % servers.length]
    if (!server.child.connected) continue
    const ended = once(server.child, 'exit')
    deaths.set(String(server.child.pid), Date.now())
    server.child.kill('SIGKILL')
    await ended
    tally.serverKills += 1
    const again = start(server)
    if (servers.length === 1) await again
  }
  await Promise.all(servers.map((server) => server.child.connected || start(server)))
}

async function killDatabase() {
  while (postgres && Date.now() + databaseKillMs < end) {
    await pause(databaseKillMs * (0.8 + 0.4 * Math.random()))
    await postgres.kill()
    tally.databaseKills += 1
    await pause(100 * Math.random())
    await postgres.start()
  }
}

/** One client: pays, and has the proof shown to several servers at once until it has everything. */
async function pay(wallet) {
  while (Date.now() < end) {
    const challenge = await ask('/data')
    if (challenge?.status !== 402) {
      await pause(20)
      continue
    }
    const terms = JSON.parse(challenge.body)
    const mint = chain.mints.USDC
    const token = { asset: mint.address, units: 10_000n, decimals: 6, tokenProgram: mint.tokenProgram }
    const order = { ...(await readLifetime(rpc)), token, recipient, requestId: terms.requestId }
    const signed = await signPayment(order, wallet)
    await submit(rpc, signed)
    if ((await confirm({ rpc, clock }, signed, 20_000)).kind !== 'landed') continue
    const proof = `tx=${signed.signature}; requestId=${terms.requestId}; payer=${wallet.address}`
    const payment = { proof, tx: decodeSignature(signed.signature), received: [] }
    payments.push(payment)
    tally.payments += 1
    // A payment in the hands of the dead waits for its lease; others are made meanwhile.
    for (let line = 0; line < linesPerPayment; line += 1) {
      const claiming = claim(payment, end).finally(() => claims.delete(claiming))
      claims.add(claiming)
    }
    while (claims.size > mostClaims) await Promise.race(claims)
  }
}

async function claim(payment, until) {
  while (payment.received.length === 0) {
    const answer = await ask('/data', { 'payment-proof': payment.proof })
    const whole = answer?.status === 200 && answer.body === 'the first.the second'
    if (whole) payment.received.push({ server: answer.server, at: Date.now() })
    if (whole || (answer?.status === 409 && answer.body.includes('payment_replay')) || Date.now() > until) return
    await pause(20 + 60 * Math.random())
  }
}

/** Every payment is asked for once more: who has it gets no second one, who has not gets it now. */
async function audit() {
  for (const payment of payments) {
    for (let time = 0; time < 100; time += 1) {
      const answer = await ask('/data', { 'payment-proof': payment.proof })
      if (answer?.status === 200) payment.received.push({ server: answer.server, at: Date.now() })
      if (answer?.status === 200 || answer?.status === 409 || answer?.status === 403) {
        if (answer.body.includes('payment_in_progress')) await pause(50)
        else break
      } else await pause(50)
    }
    if (payment.received.length === 0) tally.unservable += 1
    // Whoever dies between the last byte and the note of it may have the same thing delivered once more.
    const [first, ...more] = payment.received
    const died = first && deaths.get(first.server)
    const excused = died !== undefined && died - first.at < 1_000 ? 1 : 0
    const grants = await grantsOf(payment)
    if (grants === undefined && first) tally.losses += 1
    else if (more.length > excused || payment.received.length > grants) tally.doubles += 1
  }
}

/** How often the ledger has granted a payment; undefined when it does not know it. */
async function grantsOf({ tx }) {
  if (!postgres) return file.prepare('SELECT fence FROM payments WHERE tx = ?').get(tx)?.fence
  const { rows } = await database.query('SELECT fence FROM paystile_payments WHERE tx = $1', [Buffer.from(tx)])
  return rows.length === 0 ? undefined : Number(rows[0].fence)
}

function ask(path, headers = {}) {
  const { port } = servers[Math.floor(Math.random() * servers.length)]
  return new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, path, headers, agent: false, timeout: 10_000 }, (response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += chunk
      })
      const done = () =>
        resolve(
          response.complete ? { status: response.statusCode, body, server: response.headers['x-server'] } : undefined,
        )
      response.on('end', done)
      response.on('error', () => resolve(undefined))
    })
    call.on('error', () => resolve(undefined))
    call.on('timeout', () => call.destroy())
    call.end()
  })
}

async function newWallet() {
  return createWallet(await generateKeyPairSigner())
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
}
