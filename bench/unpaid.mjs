// How much of the bare framework's rate remains when it answers 402 through our middleware.
import autocannon from 'autocannon'
import { startServer } from './processes.mjs'
import { row } from './statistics.mjs'

const frameworks = ['node', 'hono', 'express', 'fastify']
const seconds = 1

/** Requests per second of the server's CPU time: what counts when it is busy, and far steadier than wall time. */
export async function benchUnpaid({ provider, rounds, say }) {
  const rows = []
  for (const framework of frameworks) {
    const ours = startServer(framework, 'ours', { provider })
    const url = await ours.ready
    const bare = startServer(framework, 'bare', { bare: await sampleOf(url) })
    const bareUrl = await bare.ready
    await load(url, 1)
    await load(bareUrl, 1)
    const [rates, baselines] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      // The order alternates, so that neither side always comes second.
      const pair = [
        [ours, url, rates],
        [bare, bareUrl, baselines],
      ]
      for (const [server, address, into] of round % 2 === 0 ? pair : pair.reverse())
        into.push(await rate(server, address))
    }
    rows.push(
      row(
        `unpaid/${framework}`,
        'requests per CPU second',
        rates,
        baselines,
        rates.map((value, index) => value / baselines[index]),
      ),
    )
    say(`unpaid/${framework}: ${rows.at(-1).ratio} of the bare framework`)
    await Promise.all([ours.stop(), bare.stop()])
  }
  return rows
}

async function rate(server, url) {
  const before = await server.usage('cpu')
  const { requests } = await load(url, seconds)
  const after = await server.usage('cpu')
  const cpu = (after.user + after.system - before.user - before.system) / 1e6
  return requests.total / cpu
}

export async function load(url, duration, amount) {
  const result = await autocannon({ url, connections: 32, ...(amount ? { amount } : { duration }) })
  const wrong = result.errors + result.timeouts + result['2xx'] + result['3xx'] + result['5xx']
  if (wrong > 0) throw new Error(`the load met ${wrong} answers that are not 402`)
  return result
}

/** A challenge of ours, to be sent by the bare framework as it is. */
async function sampleOf(url) {
  const response = await fetch(url)
  const names = ['content-type', 'cache-control', 'vary', 'x-content-type-options']
  return {
    body: await response.text(),
    headers: Object.fromEntries(names.map((name) => [name, response.headers.get(name)])),
  }
}
