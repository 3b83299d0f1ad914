// What a change of the ledger costs: payments taken and ended per second by this version, beside those of another one in the
// same run. `node bench/ledger.mjs <dist of the other version> [store] [payments a round] [rounds]`, after `npm run build`.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startPostgres } from '../tests/harness/postgres.mjs'
import { row } from './statistics.mjs'

const [other, only, amount = '4000', rounds = '11'] = process.argv.slice(2)
const crowd = 64
const atOnce = 200
const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const identity = { network: 'localnet', service: 'bench', fingerprint: 'fingerprint-1' }
const rates = {
  table: { NATIVE: '0.0973', USDC: '1', SOL: '151.2284' },
  source: 'pyth',
  at: Date.now(),
  decimals: { NATIVE: 9, USDC: 6, SOL: 9 },
}

const versions = {
  ours: new URL('../dist/ledger/open.js', import.meta.url),
  theirs: pathToFileURL(join(resolve(other), 'ledger', 'open.js')),
}
const postgres = await startPostgres()
const home = mkdtempSync(join(tmpdir(), 'paystile-bench-'))
const results = []
try {
  for (const store of only ? [only] : ['sqlite', 'postgres']) {
    const ledgers = {}
    for (const [name, module] of Object.entries(versions)) {
      const { openLedger } = await import(module)
      const place = store === 'sqlite' ? join(home, `${name}.sqlite`) : await postgres.place()
      ledgers[name] = await openLedger(place, { clock, identity })
    }
    // Of one endpoint in one token many payments change the same few lines of the books; of twenty in three, each its own.
    for (const endpoints of [1, 20])
      for (const sight of [false, true]) results.push(await compare(store, ledgers, { endpoints, sight }))
    for (const ledger of Object.values(ledgers)) await ledger.close()
  }
} finally {
  await postgres.close()
  rmSync(home, { recursive: true, force: true })
}
console.table(results)

/** With sightings every payment was noted by the watcher before it is claimed, as in a running service. */
async function compare(store, ledgers, kind) {
  const rates = { ours: [], theirs: [] }
  for (let turn = -2; turn < Number(rounds); turn += 1) {
    const order = turn % 2 === 0 ? ['ours', 'theirs'] : ['theirs', 'ours']
    for (const name of order) {
      const rate = await run(ledgers[name], kind)
      if (turn >= 0) rates[name].push(rate)
    }
  }
  const ratios = rates.ours.map((rate, index) => rate / rates.theirs[index])
  const name = `ledger/${store}-${kind.endpoints}${kind.sight ? '-watched' : ''}`
  return row(name, 'payments per second, ours to theirs', rates.ours, rates.theirs, ratios)
}

/** Some at a time, as they come: what was seen is claimed soon. Only claiming is timed. */
async function run(ledger, { endpoints, sight }) {
  let spent = 0
  for (let done = 0; done < Number(amount); done += atOnce) {
    const payments = Array.from({ length: atOnce }, (_, number) => paymentOf(number, endpoints))
    if (sight) await ledger.journal.sight(payments.map(sightingOf))
    const begun = performance.now()
    await Promise.all(Array.from({ length: crowd }, () => claim(ledger, payments)))
    spent += performance.now() - begun
  }
  return Number(amount) / (spent / 1000)
}

async function claim(ledger, payments) {
  for (let payment = payments.pop(); payment; payment = payments.pop()) {
    const { tx, request } = payment
    const { grant } = await ledger.take({ tx, request, payment, amount: 1n, leaseMs: 30_000 })
    await ledger.end(grant, 'settle', 1n)
  }
}

function paymentOf(number, endpoints) {
  const token = endpoints === 1 ? 'USDC' : ['USDC', 'SOL', 'NATIVE'][number % 3]
  return {
    tx: new Uint8Array(randomBytes(64)),
    request: randomBytes(16).toString('hex'),
    payer: randomBytes(16).toString('hex'),
    scope: 'GET /api/data',
    recipient: randomBytes(32).toString('hex'),
    token,
    required: 10_000n,
    received: 10_000n,
    allowance: { unit: 'request', amount: 1n },
    slot: number,
    paidAt: Math.floor(Date.now() / 1000) * 1000,
    usableUntil: Date.now() + 86_400_000,
    finality: 'confirmed',
    endpoint: `/api/resource-${number % endpoints}`,
    worth: 10_000_000_000n,
    rates,
  }
}

function sightingOf({ tx, recipient, request, payer, token, required, received, slot, paidAt, endpoint }) {
  return {
    tx,
    recipient,
    request,
    payer,
    token,
    received,
    slot: slot + 1,
    paidAt,
    endpoint,
    claimableUntil: paidAt + 1e8,
    required,
    payableUntil: paidAt + 1e6,
  }
}
