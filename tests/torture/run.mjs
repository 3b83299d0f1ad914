// `npm run torture -- --seconds 60 --json`: servers and their database are killed under load, again and again. Afterwards
// every payment is looked at: it was served, or can still be claimed; and never twice.
//   --seconds N   how long (60)      --servers N  how many (4; with --sqlite always 1)
//   --sqlite      one file instead of PostgreSQL  --least N    payments below which the run proves nothing (500)
//   --kills N     how many servers are killed at least, however long that takes (1)
//   --failover    the cluster of deploy/ha: its leader is killed, and the standby takes over (give it 60 s at least)
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { generateKeyPairSigner } from '@solana/kit'
import { openLedger } from '../../dist/ledger/open.js'
import { judgePayment } from './audit.mjs'
import { createCrew } from './crew.mjs'
import { keepHistory, readHistory, readIdentity } from './history.mjs'
import { createPayers } from './payers.mjs'
import { openCluster, openFile, openServer } from './stages.mjs'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    servers: { type: 'string', default: '4' },
    least: { type: 'string', default: '500' },
    kills: { type: 'string', default: '1' },
    sqlite: { type: 'boolean', default: false },
    failover: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)
const leaseSeconds = 2
const serverKillMs = 270
const warmUpMs = 1_500
// So that what ends with this process is ended, too.
process.once('SIGTERM', () => process.exit(143))
const home = mkdtempSync(join(tmpdir(), 'paystile-torture-'))
process.env['PAYSTILE_HOME'] = home
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const say = (line) => values.json || process.stderr.write(`${line}\n`)

// It stays calm, as nobody tells it to be bad.
const localnet = fork(fileURLToPath(new URL('./hostile.mjs', import.meta.url)), ['50'], {
  stdio: ['ignore', 2, 2, 'ipc'],
})
const [chain] = await once(localnet, 'message')
const fund = async (address, amounts) => {
  localnet.send({ fund: { address, amounts } })
  await once(localnet, 'message')
}
const recipient = (await generateKeyPairSigner()).address
await fund(recipient, { SOL: '1000000000', USDC: '0' })

const stage = values.sqlite ? openFile(home) : values.failover ? await openCluster() : await openServer()
const secret = `1:${randomBytes(32).toString('hex')}`
const provider = { recipient, rpc: chain.rpcUrl, ledger: stage.ledger, secret, leaseSeconds }
const crew = await createCrew({ home, provider, count: values.sqlite ? 1 : Number(values.servers) })
const payers = await createPayers({ chain, fund, recipient, ports: crew.ports })
await keepHistory(await stage.database())

const outages = []
const tally = { serverKills: 0, databaseKills: 0, payments: 0, doubles: 0, losses: 0, unservable: 0, misbooked: 0 }
const end = Date.now() + seconds * 1000
const isOver = () => Date.now() > end && tally.serverKills >= Number(values.kills)
say(`${crew.ports.length} servers on ${stage.name}, ${seconds} s`)
await Promise.all([killServers(), killDatabase(), payers.load(isOver)])
say('all quiet; one lease later every payment is looked at')
await pause(leaseSeconds * 1000 + 500)
await audit()

if (tally.payments < Number(values.least)) {
  say(`only ${tally.payments} payments were made: that proves nothing`)
  process.exitCode = 1
}
if (tally.doubles + tally.losses + tally.unservable + tally.misbooked > 0) process.exitCode = 1
payers.close()
await crew.close()
await stage.close()
localnet.disconnect()
rmSync(home, { recursive: true, force: true })
process.stdout.write(`${JSON.stringify(tally)}\n`)
process.exit()

async function killServers() {
  // There is something to be killed when the load is on its way.
  await pause(warmUpMs)
  for (let turn = 0; !isOver(); turn += 1) {
    const killed = await crew.kill(turn)
    if (killed) tally.serverKills += 1
    await pause(killed ? serverKillMs * (0.5 + Math.random()) : 20)
  }
  await crew.complete()
}

async function killDatabase() {
  while (stage.strike && Date.now() + stage.roomMs < end) {
    await pause(stage.everyMs * (0.8 + 0.4 * Math.random()))
    const outage = { from: Date.now(), to: Number.POSITIVE_INFINITY }
    outages.push(outage)
    await stage.strike()
    outage.to = Date.now()
    tally.databaseKills += 1
    say(`the database was struck, and is whole again after ${outage.to - outage.from} ms`)
  }
}

async function audit() {
  const rest = [...payers.payments]
  const lines = Array.from({ length: 8 }, async () => {
    for (let payment = rest.pop(); payment; payment = rest.pop()) await payers.askAgain(payment)
  })
  await Promise.all(lines)
  const [history, sends] = [await readHistory(await stage.database()), crew.sends()]
  for (const { tx, received } of payers.payments) {
    tally.payments += 1
    const parts = { history: history.get(tx) ?? [], sends: sends.get(tx) ?? [] }
    const { doubles, losses } = judgePayment({ ...parts, outages, leaseMs: leaseSeconds * 1000 })
    if (received === 0) tally.unservable += 1
    if (doubles.length > 0) tally.doubles += 1
    if (losses.length > 0) tally.losses += 1
    for (const why of [...doubles, ...losses]) process.stderr.write(`${tx.slice(0, 8)}: ${why}\n`)
  }
  await auditBooks()
  if (!values.failover) return
  const granted = [...sends.values()].flatMap((all) => all.map(({ first }) => first)).filter((at) => at < end)
  tally.failovers = tally.databaseKills
  tally.outageMs = longestGap(granted)
}

/** The books have every payment of the ledger, and each once. */
async function auditBooks() {
  const clock = { now: Date.now, monotonic: () => performance.now() }
  const ledger = await openLedger(stage.ledger, { clock, identity: await readIdentity(await stage.database()) })
  if (!ledger.books) throw new Error('the ledger keeps no books')
  for (const { line, kept, counted } of await ledger.books.audit()) {
    tally.misbooked += 1
    process.stderr.write(`${line}: ${kept}, and not ${counted}\n`)
  }
  const booked = (await ledger.books.sums({})).reduce((sum, { payments }) => sum + payments, 0)
  const served = payers.payments.filter(({ received }) => received > 0).length
  if (booked < served) tally.misbooked += served - booked
  await ledger.close()
}

/** Bytes go out right after a grant was acknowledged, so their times are those of the grants. */
function longestGap(times) {
  const ordered = times.toSorted((one, other) => one - other)
  return Math.max(0, ...ordered.slice(1).map((at, index) => at - ordered[index]))
}
