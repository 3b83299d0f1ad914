// `npm run torture -- --agents`: agents in processes of their own share a wallet and a journal, pay over a hostile node
// (hostile.mjs), and are killed again and again. Afterwards the chain is read from outside: every resource was paid for
// once, and every payment was served once.
//   --purchases N   how many resources are bought (300)     --kills N   how many agents are killed (60)
//   --sqlite        the service keeps one file instead of PostgreSQL     --json   nothing but the result
import { fork, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { generateKeyPairSigner } from '@solana/kit'
import { create402Middleware } from '../../dist/adapters/node.js'
import { initAgentWallet } from '../../dist/client/index.js'
import { writeBundle } from '../harness/write-bundle.mjs'
import { createObserver } from './payouts-chain.mjs'
import { openFile, openServer } from './stages.mjs'

const { values } = parseArgs({
  options: {
    agents: { type: 'boolean' },
    purchases: { type: 'string', default: '300' },
    kills: { type: 'string', default: '60' },
    sqlite: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const [purchases, kills] = [Number(values.purchases), Number(values.kills)]
const slotMs = 20
const lines = 4
/** What one agent buys at the same time. */
const basket = 6
const timeoutMs = 15_000
/** Agents for one basket. If they cannot buy it, it cannot be bought. */
const mostAgents = 60
/** A payment is done by then, or nothing of it can land any more. */
const calmMs = slotMs * 600
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const say = (line) => values.json || process.stderr.write(`${line}\n`)
const here = (name) => fileURLToPath(new URL(name, import.meta.url))

// So that what ends with this process is ended, too.
process.once('SIGTERM', () => process.exit(143))
const home = mkdtempSync(join(tmpdir(), 'paystile-torture-'))
process.env['PAYSTILE_HOME'] = home
const client = await writeBundle(home, here('../../dist/client/index.js'))
const hostile = fork(here('./hostile.mjs'), [String(slotMs)], { stdio: ['ignore', 2, 2, 'ipc'] })
const [chain] = await once(hostile, 'message')
const order = async (message) => {
  hostile.send(message)
  return (await once(hostile, 'message'))[0]
}
const recipient = (await generateKeyPairSigner()).address
const wallet = await initAgentWallet()
await order({ fund: { address: recipient, amounts: { SOL: '1000000000', USDC: '0' } } })
await order({ fund: { address: wallet.address, amounts: { SOL: '100000000000', USDC: '1000000000000' } } })

const stage = values.sqlite ? openFile(home) : await openServer()
const silent = { info: () => {}, warn: () => {}, error: () => {} }
const paid = create402Middleware({
  ...{ price: 0.01, token: 'USDC', network: 'localnet', recipient, rpc: chain.rpcUrl, ledger: stage.ledger },
  ...{ secret: `1:${randomBytes(32).toString('hex')}`, waitSeconds: 5, log: silent },
})
/** The requestIds by which each resource was delivered whole. */
const served = new Map()
const server = createServer((request, response) =>
  paid(request, response, () => {
    const [, requestId] = /requestId=([^;]+)/.exec(String(request.headers['payment-proof'])) ?? []
    response.once('finish', () => {
      served.set(request.url, [...(served.get(request.url) ?? []), requestId])
    })
    response.end('the secret')
  }),
).listen(0, '127.0.0.1')
await once(server, 'listening')
await paid.ready()
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())

const tally = { isDone: false, kills: 0, purchases, payments: 0, doubles: 0, forgotten: 0 }
const left = Array.from({ length: purchases }, (_, index) => `/data?${index}`)
await order({ isBad: true })
say(`${lines} lines of agents on ${stage.name}`)
await Promise.all(Array.from({ length: lines }, work))
// Agents are killed until there were enough, also when everything is bought.
while (tally.kills < kills) {
  left.push(`/data?${tally.purchases++}`)
  await work()
}
await order({ isBad: false })
await pause(calmMs)
await audit()

paid.close()
server.close()
await stage.close()
hostile.disconnect()
rmSync(home, { recursive: true, force: true })
process.stdout.write(`${JSON.stringify(tally)}\n`)
process.exit(tally.isDone && tally.doubles + tally.forgotten === 0 ? 0 : 1)

/** Buys baskets until nothing is left. What an agent did not get is bought by the next one. */
async function work() {
  for (let urls = left.splice(0, basket); urls.length > 0; urls = left.splice(0, basket)) {
    let rest = urls
    for (let agents = 0; rest.length > 0; agents += 1) {
      if (agents === mostAgents) throw new Error(`${mostAgents} agents could not buy ${rest.join(', ')}`)
      await runAgent(rest)
      rest = urls.filter((url) => !served.has(url))
      const seconds = Math.round(performance.now() / 1000)
      say(`${seconds} s: ${served.size} of ${tally.purchases} served, ${tally.kills} kills, ${rest.length} left here`)
    }
  }
}

/** Ends when the agent does: on its own, or killed at a moment of chance after its first payment. */
async function runAgent(urls) {
  const orders = {
    ...{ client, rpc: chain.rpcUrl, timeoutMs },
    urls: urls.map((url) => `http://127.0.0.1:${port}${url}`),
  }
  const child = spawn(process.execPath, [here('../client/agent.mjs')], {
    env: { ...process.env, AGENT_ORDER: JSON.stringify(orders) },
    stdio: ['ignore', 'pipe', 2],
  })
  const ended = once(child, 'close')
  child.stdout?.once('data', async () => {
    if (tally.kills >= kills || Math.random() < 0.3) return
    await pause(Math.random() * 4_000)
    if (child.exitCode === null && child.kill('SIGKILL')) tally.kills += 1
  })
  await ended
  // A response that was on its way is whole, or broken, by then.
  await pause(50)
}

/** Every resource was delivered by one payment, and every payment on the chain delivered a resource. */
async function audit() {
  const observer = createObserver(chain.rpcUrl)
  const transactions = await observer.transactionsOf(wallet.address, chain.mints.USDC.address)
  const memos = transactions.filter(({ failed }) => !failed).map(({ memo }) => memo)
  const deliveries = [...served.values()].flat()
  tally.payments = memos.length
  tally.isDone = served.size === tally.purchases
  tally.doubles = deliveries.length - served.size + memos.length - new Set(memos).size
  tally.forgotten = memos.filter((memo) => !deliveries.includes(memo)).length
}
