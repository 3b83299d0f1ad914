// A gateway in two processes beside the same gateway in one: requests per CPU second of all its processes, for a 402, an
// open window and a bundle.
import { join } from 'node:path'
import { createLoad } from '../load.mjs'
import { compareRounds } from '../rounds.mjs'
import { createClaimSecret, waitFor } from '../shop.mjs'
import { row } from '../statistics.mjs'

const kinds = /** @type {const} */ (['unpaid', 'window', 'bundle'])

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {import('../sizes.mjs').Rounds} size
 */
export async function benchProcesses(setting, size) {
  const { processes, home, say } = setting
  const payer = await setting.payer()
  const behind = await processes.start('proxy', { kind: 'upstream' }, { as: 'upstream', placement: 'anywhere' })
  const upstream = new URL(behind.facts.url).origin
  const open = async (/** @type {number} */ count) => {
    const provider = { ...(await setting.provider()), ledger: join(home, `processes-${count}.sqlite`) }
    const options = { count, upstream, provider }
    return processes.start('gateway-processes', options, { as: `${count} processes`, placement: 'anywhere' })
  }
  const [two, one] = [await open(2), await open(1)]
  const rows = []
  for (const kind of kinds) {
    const sides = await Promise.all(
      [two, one].map(async (gateway) => {
        const url = `${gateway.facts.url}/${kind}`
        const headers = kind === 'unpaid' ? {} : { 'Payment-Proof': await pay(payer, url) }
        return { facts: { url }, headers, cpuSeconds: () => gateway.ask('usedSeconds') }
      }),
    )
    const [ours, bare] = /** @type {[typeof sides[0], typeof sides[0]]} */ (sides)
    const status = kind === 'unpaid' ? 402 : 200
    // Twice, because each process sees half of the requests.
    const load = createLoad(ours.facts.url, { status, headers: ours.headers })
    await load.run(size.warmUp)
    load.close()
    const { rates, baselines } = await compareRounds({ ours, bare }, size, { status })
    const result = row(`processes/${kind}-2-to-1`, 'requests per CPU second', rates, baselines)
    say(`processes/${kind}: two processes serve ${result.ratio} of the requests of one with the same CPU time`)
    rows.push(result)
  }
  await Promise.all([two.stop(), one.stop()])
  await behind.stop()
  return rows
}

/**
 * Pays, and waits until all processes serve the payment.
 *
 * @param {import('../shop.mjs').Payer} payer
 * @param {string} url
 */
async function pay(payer, url) {
  await waitFor(async () => (await fetch(url)).status === 402, 'the gateway sells')
  const { announced, secret } = createClaimSecret()
  const proof = `${await payer.payOnce(url, announced)}${secret}`
  const isServed = async () => (await fetch(url, { headers: { 'Payment-Proof': proof } })).status === 200
  await waitFor(isServed, 'the payment opens the route')
  return proof
}
