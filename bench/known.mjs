// Paid requests whose transaction the watcher has seen already: what the ledger costs when it has to be durable, beside
// the bare framework and beside a ledger in memory; and whether more servers on one database get in each other's way.
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { join } from 'node:path'
import { generateKeyPairSigner } from '@solana/kit'
import { fetchTransport } from '../dist/chain/fetch-transport.js'
import { createWallet } from '../dist/chain/keypair.js'
import { signPayment } from '../dist/chain/payment.js'
import { createRpc } from '../dist/chain/rpc.js'
import { readLifetime, submit } from '../dist/chain/send.js'
import { startPostgres } from '../tests/harness/postgres.mjs'
import { startServer } from './processes.mjs'
import { row } from './statistics.mjs'

const rounds = 5
const perServer = 300
const perReplica = 150
/** Compilers need some requests to see what matters. */
const warmUp = 1_500
const connectionsPerServer = 32

export async function benchKnown({ localnet, provider, home, say }) {
  const postgres = await startPostgres()
  const secret = `1:${randomBytes(32).toString('hex')}`
  const payer = await createPayer(localnet, provider.recipient)
  const ledgers = {
    memory: 'memory:',
    sqlite: join(home, 'known.sqlite'),
    postgres: await postgres.place(),
  }
  const open = async (ledger, service) => openShop({ ...provider, ledger, secret, service })
  const shops = Object.fromEntries(
    await Promise.all(
      Object.entries(ledgers).map(async ([name, ledger]) => [name, { servers: [await open(ledger, name)] }]),
    ),
  )
  const bare = startServer('node', 'bare', { bare: { status: 200, body: '{"answer":42}', headers: {} } })
  shops.bare = { servers: [{ server: bare, url: await bare.ready }] }
  const rates = Object.fromEntries(Object.keys(shops).map((name) => [name, []]))
  for (let turn = -1; turn < rounds; turn += 1) {
    for (const [name, shop] of Object.entries(shops)) {
      const amount = turn < 0 ? warmUp : perServer
      const proofs = name === 'bare' ? Array(amount).fill('none') : await payer.buy(shop.servers, amount)
      const rate = await claimAll(shop.servers, proofs)
      if (turn >= 0) rates[name].push(rate)
    }
  }
  const rows = []
  for (const name of ['sqlite', 'postgres']) {
    for (const beside of ['bare', 'memory']) {
      const ratios = rates[name].map((rate, index) => rate / rates[beside][index])
      rows.push(row(`known/${name}-to-${beside}`, 'paid requests per second', rates[name], rates[beside], ratios))
      say(`known/${name}: ${rows.at(-1).ratio} of ${beside === 'bare' ? 'the bare framework' : 'a ledger in memory'}`)
    }
  }
  for (const { servers } of Object.values(shops)) for (const { server } of servers) await server.stop()
  rows.push(...(await benchReplicas({ open, ledger: await postgres.place(), payer, say })))
  await postgres.close()
  return rows
}

/**
 * One, two and four servers on one database, in turn, each under the same load. They share the same cores here, so what is
 * compared is the CPU time that a request costs them: as long as that stays the same, more machines bring as much more.
 */
async function benchReplicas({ open, ledger, payer, say }) {
  const servers = await Promise.all(Array.from({ length: 4 }, () => open(ledger, 'replicas')))
  const counts = [1, 2, 4]
  const rates = Object.fromEntries(counts.map((count) => [count, []]))
  await claimAll(servers, await payer.buy(servers, 2 * warmUp))
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const count of counts) {
      const amount = count * perReplica
      const proofs = await payer.buy(servers, amount)
      const before = await cpuOf(servers)
      await claimAll(servers.slice(0, count), proofs)
      const rate = amount / ((await cpuOf(servers)) - before)
      rates[count].push(rate)
    }
  }
  for (const { server } of servers) await server.stop()
  return counts.slice(1).map((count) => {
    const ratios = rates[count].map((rate, index) => rate / rates[1][index])
    const result = row(`known/replicas-${count}-to-1`, 'paid requests per CPU second', rates[count], rates[1], ratios)
    say(`known/replicas-${count}: ${result.ratio} of one server`)
    return result
  })
}

/** Seconds of CPU time of all servers so far. */
async function cpuOf(servers) {
  const used = await Promise.all(servers.map(({ server }) => server.usage('cpu')))
  return used.reduce((sum, { user, system }) => sum + (user + system) / 1e6, 0)
}

export async function openShop(provider, more = {}) {
  const server = startServer('node', 'ours', { provider, ...more })
  const shop = { server, url: await server.ready }
  for (;;) {
    const { metrics } = await server.usage('metrics')
    if (metrics.includes('paystile_watcher_current 1')) return shop
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export async function createPayer(localnet, recipient) {
  const wallet = await createWallet(await generateKeyPairSigner())
  await localnet.fund(wallet.address, { SOL: 100_000_000_000n, USDC: 1_000_000_000_000n })
  const rpc = createRpc({ urls: [localnet.rpcUrl], transport: fetchTransport })
  const { address: asset, tokenProgram } = localnet.mints.USDC
  const usdc = { asset, decimals: 6, tokenProgram }
  const payOnce = async (url, accept, more = '') => {
    for (;;) {
      const headers = accept === undefined ? {} : { 'Payment-Accept': accept }
      const { requestId, amounts } = await (await fetch(url, { headers })).json()
      const token = { ...usdc, units: BigInt(Math.round(Number(amounts.USDC) * 1e6)) }
      const lifetime = await readLifetime(rpc)
      if (!lifetime) continue
      const signed = await signPayment({ ...lifetime, token, recipient, requestId }, wallet)
      const { kind } = await submit(rpc, signed)
      // A chain that is too busy to answer may have it all the same; then it is one payment too many.
      if (kind === 'sent') return `tx=${signed.signature}; requestId=${requestId}; payer=${wallet.address}${more}`
    }
  }
  return {
    wallet,
    payOnce,
    /** Payments that all of these servers have seen. */
    buy: async (servers, amount) => {
      const before = await Promise.all(servers.map(seenBy))
      const proofs = []
      while (proofs.length < amount) {
        proofs.push(...(await Promise.all(Array.from({ length: 20 }, () => payOnce(servers[0].url)))))
      }
      for (const [index, shop] of servers.entries()) await untilSeen(shop, before[index] + amount)
      return proofs
    },
  }
}

/** How many payments a server's watcher has heard of. */
async function seenBy({ server }) {
  const { metrics } = await server.usage('metrics')
  return Number(/payments_seen_total\{by="socket"\} (\d+)/.exec(metrics)?.[1] ?? 0)
}

async function untilSeen(shop, count) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    if ((await seenBy(shop)) >= count) return
  }
  throw new Error('the watcher has not seen the payments')
}

/** Shows each proof once, over connections spread over the servers; answers per second. */
export async function claimAll(servers, proofs) {
  const waiting = [...proofs]
  const begun = performance.now()
  const urls = servers.flatMap(({ url }) => Array(connectionsPerServer).fill(url))
  await Promise.all(urls.map((url) => claimBy(new URL(url), waiting)))
  return proofs.length / ((performance.now() - begun) / 1000)
}

function claimBy({ hostname, port, pathname }, waiting) {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    const next = () => {
      const proof = waiting.pop()
      if (proof === undefined) return socket.end(resolve)
      socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nPayment-Proof: ${proof}\r\n\r\n`)
    }
    socket.setEncoding('latin1')
    socket.on('connect', next)
    socket.on('error', reject)
    socket.on('data', (text) => {
      received += text
      if (!received.includes('"answer":42}')) return
      if (!received.startsWith('HTTP/1.1 200')) return reject(new Error(`not served: ${received.slice(0, 300)}`))
      received = ''
      next()
    })
  })
}
