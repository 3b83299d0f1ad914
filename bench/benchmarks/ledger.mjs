// The cost of a change of the ledger: payments taken and ended per second by this build, beside those of another build
// (`--against`) in the same run.
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { clock, createPayment, identity } from '../payment.mjs'
import { row } from '../statistics.mjs'

/**
 * @typedef {import('../../dist/server.js').Ledger} Ledger
 * @typedef {import('../payment.mjs').Payment} Payment
 * @typedef {{ ours: Ledger, theirs: Ledger }} Ledgers
 * @typedef {{ endpoints: number, isWatched: boolean }} Kind
 */

const crowd = 64
const largestBatch = 200
/** @type {NonNullable<Payment['rates']>} */
const rates = {
  table: { NATIVE: '0.0973', USDC: '1', SOL: '151.2284' },
  source: 'pyth',
  at: Date.now(),
  decimals: { NATIVE: 9, USDC: 6, SOL: 9 },
}
/** Many payments for one endpoint in one token change the same few rows of the books; for twenty in three, each its own. */
const kinds = [
  { endpoints: 1, isWatched: false },
  { endpoints: 1, isWatched: true },
  { endpoints: 20, isWatched: false },
  { endpoints: 20, isWatched: true },
]

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ warmUp: number, rounds: number, payments: number }} size
 * @param {'sqlite' | 'postgres'} store
 */
export async function benchLedger({ home, against, postgresPlace, say }, size, store) {
  const open = async (/** @type {string} */ build, /** @type {string} */ name) => {
    const place = store === 'sqlite' ? join(home, `ledger-${name}.sqlite`) : await postgresPlace()
    const { openLedger } = await import(pathToFileURL(join(resolve(build), 'ledger', 'open.js')).href)
    return /** @type {Ledger} */ (await openLedger(place, { clock, identity }))
  }
  const ledgers = { ours: await open('dist', 'ours'), theirs: await open(against, 'theirs') }
  const rows = []
  for (const kind of kinds) rows.push(await compare(store, ledgers, kind, size))
  for (const ledger of Object.values(ledgers)) await ledger.close()
  for (const { name, ratio } of rows) say(`${name}: ${ratio} of the other build`)
  return rows
}

/**
 * @param {string} store
 * @param {Ledgers} ledgers
 * @param {Kind} kind
 * @param {{ warmUp: number, rounds: number, payments: number }} size
 */
async function compare(store, ledgers, kind, { warmUp, rounds, payments }) {
  /** @type {{ ours: number[], theirs: number[] }} */
  const measured = { ours: [], theirs: [] }
  for (let turn = -warmUp; turn < rounds; turn += 1) {
    for (const name of turn % 2 === 0
      ? /** @type {const} */ (['ours', 'theirs'])
      : /** @type {const} */ (['theirs', 'ours'])) {
      const rate = await measure(ledgers[name], kind, payments)
      if (turn >= 0) measured[name].push(rate)
    }
  }
  const name = `ledger/${store}-${kind.endpoints}${kind.isWatched ? '-watched' : ''}`
  return row(name, 'payments per second, ours to theirs', measured.ours, measured.theirs)
}

/**
 * Claims payments in batches, as they come: payments that the watcher saw are claimed soon. Only claiming is timed.
 *
 * @param {Ledger} ledger
 * @param {Kind} kind
 * @param {number} amount
 */
async function measure(ledger, { endpoints, isWatched }, amount) {
  const batch = Math.min(largestBatch, amount)
  let spent = 0
  for (let done = 0; done < amount; done += batch) {
    const payments = Array.from({ length: batch }, (_, number) => createOne(number, endpoints))
    if (isWatched) await ledger.journal?.sight(payments.map(toSighting))
    const begun = performance.now()
    await Promise.all(Array.from({ length: crowd }, () => claim(ledger, payments)))
    spent += performance.now() - begun
  }
  return amount / (spent / 1000)
}

/**
 * @param {Ledger} ledger
 * @param {Payment[]} payments
 */
async function claim(ledger, payments) {
  for (let payment = payments.pop(); payment; payment = payments.pop()) {
    const { tx, request } = payment
    const taken = await ledger.take({ tx, request, payment, amount: 1n, leaseMs: 30_000 })
    if (taken.kind !== 'granted') throw new Error(`The ledger granted nothing: ${taken.kind}`)
    await ledger.end(taken.grant, 'delivered', 1n)
  }
}

/**
 * @param {number} number
 * @param {number} endpoints
 */
function createOne(number, endpoints) {
  const tokens = /** @type {const} */ (['USDC', 'SOL', 'NATIVE'])
  return createPayment({
    token: (endpoints === 1 ? undefined : tokens[number % 3]) ?? 'USDC',
    recipient: `recipient-${number}`,
    slot: number,
    finality: 'confirmed',
    endpoint: `/api/resource-${number % endpoints}`,
    rates,
  })
}

/** @param {Payment} payment */
function toSighting({ tx, recipient, request, payer, token, required, received, slot, paidAt, endpoint }) {
  const times = { paidAt, claimableUntil: paidAt + 1e8, payableUntil: paidAt + 1e6 }
  return { tx, recipient, request, payer, token, required, received, slot: slot + 1, endpoint, ...times }
}
