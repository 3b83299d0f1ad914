// The part of the bare framework's rate that remains when it answers 402 through our middleware.
import { compareRounds } from '../rounds.mjs'
import { row } from '../statistics.mjs'

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {import('../sizes.mjs').StartedRounds} size
 * @param {import('../parts/server.mjs').Framework} framework
 */
export async function benchUnpaid({ processes, offlineProvider, say }, size, framework) {
  /** @type {number[]} */
  const rates = []
  /** @type {number[]} */
  const baselines = []
  // Compilers make different choices in each process, so several pairs of processes are measured.
  for (let start = 0; start < size.starts; start += 1) {
    const ours = await processes.start('server', { framework, provider: offlineProvider() }, { as: framework })
    const answer = await readChallenge(ours.facts.url)
    const bare = await processes.start('server', { framework, bare: answer }, { as: `bare ${framework}` })
    const measured = await compareRounds({ ours, bare }, size)
    rates.push(...measured.rates)
    baselines.push(...measured.baselines)
    await Promise.all([ours.stop(), bare.stop()])
  }
  const result = row(`unpaid/${framework}`, 'requests per CPU second', rates, baselines)
  say(`unpaid/${framework}: ${result.ratio} of the bare framework`)
  return [result]
}

/**
 * A challenge of ours, for the bare framework to send.
 *
 * @param {string} url
 */
async function readChallenge(url) {
  const response = await fetch(url)
  const names = ['content-type', 'cache-control', 'vary', 'x-content-type-options']
  return {
    body: await response.text(),
    headers: Object.fromEntries(names.map((name) => [name, response.headers.get(name) ?? ''])),
  }
}
