// How much of the bare framework's rate remains when it answers 402 through our middleware.
import { createLoad } from './load.mjs'
import { startServer } from './processes.mjs'
import { row } from './statistics.mjs'

const frameworks = ['node', 'hono', 'express', 'fastify']
/** Short rounds, and many of them: whatever else the machine does then falls on both sides alike. */
const rounds = 40
const requestsPerRound = 2_000
const warmUp = 20_000
/** Compilers have their luck: each pair of processes is started anew this often. */
const starts = 3

/** Requests per second of the server's CPU time: what counts when it is busy, and far steadier than wall time. */
export async function benchUnpaid({ provider, say }) {
  const rows = []
  for (const framework of frameworks) {
    const [rates, baselines] = [[], []]
    for (let start = 0; start < starts; start += 1) await measure(framework, provider, rates, baselines)
    const ratios = rates.map((value, index) => value / baselines[index])
    rows.push(row(`unpaid/${framework}`, 'requests per CPU second', rates, baselines, ratios))
    say(`unpaid/${framework}: ${rows.at(-1).ratio} of the bare framework`)
  }
  return rows
}

async function measure(framework, provider, rates, baselines) {
  const ours = startServer(framework, 'ours', { provider })
  const url = await ours.ready
  const bare = startServer(framework, 'bare', { bare: await sampleOf(url) })
  const sides = [
    { server: ours, load: createLoad(url), into: rates },
    { server: bare, load: createLoad(await bare.ready), into: baselines },
  ]
  for (const { load } of sides) await load.run(warmUp)
  for (let round = 0; round < rounds; round += 1) {
    // The order alternates, so that neither side always comes second.
    for (const { server, load, into } of round % 2 === 0 ? sides : sides.toReversed()) {
      const before = await server.usage('cpu')
      await load.run(requestsPerRound)
      const after = await server.usage('cpu')
      into.push(requestsPerRound / ((after.user + after.system - before.user - before.system) / 1e6))
    }
  }
  for (const { server, load } of sides) {
    load.close()
    await server.stop()
  }
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
