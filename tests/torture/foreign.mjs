// `npm run torture -- --foreign`: unmodified clients of x402 and MPP buy from servers that are killed, with a sponsor, while
// a thief presents their payments at all servers. Afterwards the chain is read from outside: every payment was served, and once;
// the sponsor paid the fees that the ledger has recorded; and the books agree.
//   --seconds N   how long (60)           --servers N  how many (3)     --sqlite  one file instead of PostgreSQL
//   --kills N     servers that are killed at least (10)     --least N   payments that are served at least (50)
//   --buyers N    of each protocol (3)    --json       nothing but the result
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openLedger } from '../../dist/ledger/open.js'
import { judgePayment } from './audit.mjs'
import { createBuyers, createKey, readAddress } from './buyers.mjs'
import { createCrew } from './crew.mjs'
import { keepHistory, readHistory, readIdentity } from './history.mjs'
import { createObserver } from './payouts-chain.mjs'
import { openFile, openServer } from './stages.mjs'

const { values } = parseArgs({
  options: {
    foreign: { type: 'boolean' },
    seconds: { type: 'string', default: '60' },
    servers: { type: 'string', default: '3' },
    buyers: { type: 'string', default: '3' },
    kills: { type: 'string', default: '10' },
    least: { type: 'string', default: '50' },
    sqlite: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const leaseSeconds = 2
const slotMs = 100
const sponsorLamports = 1_000_000_000n
/** Longer than the time after which the worker reads what was left open. It would also end holds and leases under load. */
const laterSeconds = 30
const warmUpMs = 500
const killMs = 700
/** Enough for finality. */
const finalSlots = 50
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const say = (line) => values.json || process.stderr.write(`${line}\n`)

// So that what ends with this process is ended, too.
process.once('SIGTERM', () => process.exit(143))
const home = mkdtempSync(join(tmpdir(), 'paystile-torture-'))
process.env['PAYSTILE_HOME'] = home
const localnet = fork(fileURLToPath(new URL('./hostile.mjs', import.meta.url)), [String(slotMs)], {
  stdio: ['ignore', 2, 2, 'ipc'],
})
const [chain] = await once(localnet, 'message')
let orders = Promise.resolve()
/** One order after the other, as their answers have no names. */
const order = (message) => {
  orders = orders.then(async () => {
    localnet.send(message)
    await once(localnet, 'message')
  })
  return orders
}
const fund = (address, amounts) => order({ fund: { address, amounts } })
const recipient = readAddress(createKey())
await fund(recipient, { SOL: '1000000000', USDC: '0' })
const sponsorKey = createKey()
const sponsor = readAddress(sponsorKey)
const keyFile = join(home, 'sponsor.json')
writeFileSync(keyFile, JSON.stringify([...sponsorKey]), { mode: 0o600 })
await fund(sponsor, { SOL: String(sponsorLamports) })

const stage = values.sqlite ? openFile(home) : await openServer()
const provider = {
  ...{ recipient, rpc: chain.rpcUrl, ledger: stage.ledger, secret: `1:${randomBytes(32).toString('hex')}` },
  ...{ leaseSeconds, sponsor: { key: keyFile }, trustProxy: 1, waitSeconds: 0.5 },
}
const crew = await createCrew({ home, provider, count: Number(values.servers) })
const observer = createObserver(chain.rpcUrl)
const buyers = await createBuyers({ chain, fund, observer, ports: crew.ports, count: Number(values.buyers) })
await keepHistory(await stage.database())
// Some buyers are told to wait, before their payments land.
await order({ isSlow: true })

const tally = {
  ...{ kills: 0, purchases: 0, payments: 0, doubles: 0, losses: 0, unserved: 0, forgotten: 0 },
  ...{ thefts: 0, attempts: 0, pending: 0, misbooked: 0, feeDifference: 0 },
}
const end = Date.now() + Number(values.seconds) * 1000
const countServed = () => buyers.purchases.filter(({ received }) => received > 0).length
const isKilling = () => Date.now() < end || tally.kills < Number(values.kills)
/** On a busy machine, blockhashes expire before their servers are ready: then it takes longer. */
const isOver = () => !isKilling() && countServed() >= Number(values.least)
say(`${crew.ports.length} servers on ${stage.name}, ${values.seconds} s`)
await Promise.all([killServers(), buyers.load(isOver)])
await order({ isSlow: false })
// A server that died after the grant did not record the outcome: the worker of another one does.
await order({ pass: laterSeconds })
await audit()

const { doubles, losses, unserved, forgotten, thefts, misbooked, feeDifference } = tally
if (doubles + losses + unserved + forgotten + thefts + misbooked + Math.abs(feeDifference) > 0) process.exitCode = 1
await crew.close()
await stage.close()
localnet.disconnect()
rmSync(home, { recursive: true, force: true })
process.stdout.write(`${JSON.stringify(tally)}\n`)
process.exit()

async function killServers() {
  await pause(warmUpMs)
  for (let turn = 0; isKilling(); turn += 1) {
    const killed = await crew.kill(turn)
    if (killed) tally.kills += 1
    await pause(killed ? killMs * (0.5 + Math.random()) : 20)
  }
  await crew.complete()
}

async function audit() {
  const purchases = buyers.purchases.filter(({ isVoid }) => !isVoid)
  for (const purchase of purchases) await buyers.askAgain(purchase)
  await order({ pass: 1, slots: finalSlots })
  const [history, sends] = [await readHistory(await stage.database()), crew.sends()]
  const landed = (await observer.transactionsOf(sponsor, chain.mints.USDC.address)).filter(({ failed }) => !failed)
  for (const { signature: tx, memo } of landed) {
    tally.payments += 1
    // The memo of x402 is the end of the requestId.
    const purchase = purchases.find(({ requestId }) => requestId.endsWith(memo.slice(-32)))
    const parts = {
      history: history.get(tx) ?? [],
      sends: [...(sends.get(tx) ?? []), ...(sends.get(purchase?.path) ?? [])],
    }
    const wrongs = judgePayment({ ...parts, outages: [], leaseMs: leaseSeconds * 1000 })
    if (!purchase || purchase.received === 0) tally.unserved += 1
    if (wrongs.doubles.length > 0) tally.doubles += 1
    if (wrongs.losses.length > 0) tally.losses += 1
    for (const why of [...wrongs.doubles, ...wrongs.losses]) process.stderr.write(`${tx.slice(0, 8)}: ${why}\n`)
  }
  tally.purchases = purchases.length
  // Each purchase is one payment, and one delivery.
  tally.forgotten = purchases.length - new Set(landed.map(({ memo }) => memo)).size
  Object.assign(tally, buyers.counts)
  await auditLedger(landed)
}

/** The fees on the chain, the lamports that the sponsor lacks, and the sums of the ledger are equal. */
async function auditLedger(landed) {
  const clock = { now: Date.now, monotonic: () => performance.now() }
  const ledger = await openLedger(stage.ledger, { clock, identity: await readIdentity(await stage.database()) })
  if (!ledger.books) throw new Error('the ledger keeps no books')
  for (const { line, kept, counted } of await ledger.books.audit()) {
    tally.misbooked += 1
    process.stderr.write(`${line}: ${kept}, and not ${counted}\n`)
  }
  const booked = (await ledger.books.sums({})).reduce((sum, { payments }) => sum + payments, 0)
  tally.misbooked += Math.abs(booked - landed.length)
  let sums = await ledger.submissions.sums(0)
  for (let time = 0; time < 400 && sums.open > 0n; time += 1) {
    await pause(50)
    sums = await ledger.submissions.sums(0)
  }
  const { value: balance } = await observer.ask('getBalance', [sponsor, { commitment: 'finalized' }])
  const paid = sponsorLamports - BigInt(balance)
  const fees = landed.reduce((sum, { fee }) => sum + BigInt(fee), 0n)
  say(`fees on the chain ${fees}, paid ${paid}, recorded ${sums.spent}, lost ${sums.lost}, open ${sums.open}`)
  tally.feeDifference = Number(paid - sums.spent - sums.lost) || Number(paid - fees) || Number(sums.open)
  await ledger.close()
}
