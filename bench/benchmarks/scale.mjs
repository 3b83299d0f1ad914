// Claims of new payments in a ledger of 250,000 payments and in one of 10,000,000; and claims of a burst of payments, long
// after the watcher has seen them, beside claims of payments that it has just seen.
import { join } from 'node:path'
import { openFilled, to } from '../filled-ledger.mjs'
import { createPayment } from '../payment.mjs'
import { claimAll, claimMeasured, openShop } from '../shop.mjs'
import { compareMedians, percentile, row } from '../statistics.mjs'

/**
 * @typedef {import('../../dist/server.js').Ledger} Ledger
 * @typedef {import('../setting.mjs').Setting} Setting
 */

const crowd = 32

/**
 * @param {Setting} setting
 * @param {{ few: number, many: number, warmUp: number, rounds: number, claims: number }} size
 * @param {import('../filled-ledger.mjs').Store} store
 */
export async function benchClaims(setting, { few, many, warmUp, rounds, claims }, store) {
  const sides = []
  for (const amount of [many, few])
    sides.push({
      ledger: await openFilled(setting, store, amount),
      cpus: /** @type {number[]} */ ([]),
      times: /** @type {number[]} */ ([]),
    })
  for (const { ledger } of sides) await claimNew(ledger, warmUp)
  for (let round = 0; round < rounds; round += 1)
    for (const { ledger, cpus, times } of round % 2 === 0 ? sides : sides.toReversed()) {
      const before = process.cpuUsage()
      times.push(...(await claimNew(ledger, claims)))
      const { user, system } = process.cpuUsage(before)
      cpus.push((user + system) / claims)
    }
  for (const { ledger } of sides) await ledger.close()
  const [large, small] = /** @type {[typeof sides[0], typeof sides[0]]} */ (sides)
  const p99 = ({ times } = large) => [percentile(times, 0.99)]
  const rows = [
    row(`scale/claim-cpu-10m-${store}`, 'µs of CPU, to 250,000 payments', large.cpus, small.cpus),
    compareMedians(`scale/claim-p99-10m-${store}`, 'ms, to 250,000 payments', p99(large), p99(small)),
  ]
  for (const { name, ratio, value, baseline } of rows) setting.say(`${name}: ${ratio} (${value} and ${baseline})`)
  return rows
}

/**
 * Claims new payments, some at a time. Returns the milliseconds of each.
 *
 * @param {Ledger} ledger
 * @param {number} amount
 */
async function claimNew(ledger, amount) {
  const payments = Array.from({ length: amount }, () => createPayment({ paidAt: to, usableUntil: to + 86_400_000 }))
  /** @type {number[]} */
  const times = []
  const claimInTurn = async () => {
    for (let payment = payments.pop(); payment; payment = payments.pop()) {
      const { tx, request } = payment
      const begun = performance.now()
      const taken = await ledger.take({ tx, request, payment, amount: 1n, leaseMs: 30_000 })
      if (taken.kind !== 'granted') throw new Error(`The ledger granted nothing: ${taken.kind}`)
      await ledger.end(taken.grant, 'delivered', 1n)
      times.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: crowd }, claimInTurn))
  return times
}

/**
 * @param {Setting} setting
 * @param {{ payments: number, warmUp: number, rounds: number, claims: number }} size
 */
export async function benchBurst(setting, { payments, warmUp, rounds, claims }) {
  const payer = await setting.payer()
  const provider = { ...(await setting.provider()), ledger: join(setting.home, 'burst.sqlite') }
  const server = await openShop(setting, provider, { as: 'burst' })
  await claimAll([server], await payer.buy([server], warmUp))
  const begun = performance.now()
  const burst = await payer.buy([server], payments)
  setting.say(`${payments} payments were seen after ${Math.round((performance.now() - begun) / 1000)} s`)
  /** @type {{ late: number[], fresh: number[] }} */
  const rates = { late: [], fresh: [] }
  for (let round = 0; round < rounds; round += 1) {
    rates.late.push(await claimMeasured(server, burst.splice(0, claims)))
    rates.fresh.push(await claimMeasured(server, await payer.buy([server], claims)))
  }
  await server.stop()
  const result = row('scale/burst-50k', 'claims per CPU second, to those of new payments', rates.late, rates.fresh)
  setting.say(`${result.name}: ${result.ratio} of the claims of new payments`)
  return [result]
}
