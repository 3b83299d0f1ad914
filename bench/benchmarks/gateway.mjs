// The gateway on a route that is paid for already (an open window, presented by its claim), beside a bare streaming proxy
// with the same client and the same upstream.
import { join } from 'node:path'
import { compareRounds } from '../rounds.mjs'
import { createClaimSecret, readPaidHeaders, waitFor } from '../shop.mjs'
import { row } from '../statistics.mjs'

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {import('../sizes.mjs').StartedRounds} size
 */
export async function benchGateway(setting, size) {
  const { processes, home, say } = setting
  const payer = await setting.payer()
  const provider = await setting.provider()
  const behind = await processes.start('proxy', { kind: 'upstream' }, { as: 'upstream', placement: 'anywhere' })
  const upstream = new URL(behind.facts.url).origin
  /** @type {number[]} */
  const rates = []
  /** @type {number[]} */
  const baselines = []
  for (let start = 0; start < size.starts; start += 1) {
    const ledger = join(home, `gateway-${start}.sqlite`)
    const options = { kind: /** @type {const} */ ('gateway'), upstream, provider: { ...provider, ledger } }
    const ours = await processes.start('proxy', options, { as: 'gateway' })
    const { announced, secret } = createClaimSecret()
    const proof = `${await payer.payOnce(ours.facts.url, announced)}${secret}`
    const headers = { 'Payment-Proof': proof }
    await waitFor(async () => (await readStatus(ours.facts.url, headers)) === 200, 'the payment opens the route')
    // The upstream itself sends the type.
    const { 'content-type': _type, ...added } = await readPaidHeaders(ours.facts.url, proof)
    const least = { kind: /** @type {const} */ ('bare'), upstream, headers: added }
    const bare = await processes.start('proxy', least, { as: 'bare proxy' })
    // Both get the same header, which only the gateway reads, and send the same bytes.
    const measured = await compareRounds({ ours, bare }, size, { status: 200, headers })
    rates.push(...measured.rates)
    baselines.push(...measured.baselines)
    await Promise.all([ours.stop(), bare.stop()])
  }
  await behind.stop()
  const result = row('gateway/paid', 'requests per CPU second', rates, baselines)
  say(`gateway/paid: ${result.ratio} of a bare streaming proxy`)
  return [result]
}

/**
 * @param {string} url
 * @param {Record<string, string>} headers
 */
async function readStatus(url, headers) {
  const response = await fetch(url, { headers })
  await response.text()
  return response.status
}
