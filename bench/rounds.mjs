// Two servers under the same load in turn. Compared are requests per second of the server's CPU time: that is the limit
// of a busy server, and far steadier than wall time.
import { createLoad } from './load.mjs'

/**
 * @typedef {import('./load.mjs').LoadOptions} LoadOptions
 * @typedef {{ facts: { url: string }, cpuSeconds: () => Promise<number> }} Side
 */

/**
 * Returns the rates of each round.
 *
 * @param {{ ours: Side, bare: Side }} servers
 * @param {import('./sizes.mjs').Rounds} size
 * @param {LoadOptions} [options]
 */
export async function compareRounds({ ours, bare }, { warmUp, rounds, requests }, options = {}) {
  const sides = [ours, bare].map((server) => ({
    server,
    load: createLoad(server.facts.url, options),
    rates: /** @type {number[]} */ ([]),
  }))
  for (const { load } of sides) await load.run(warmUp)
  for (let round = 0; round < rounds; round += 1) {
    // The order alternates, so that neither side always comes second.
    for (const { server, load, rates } of round % 2 === 0 ? sides : sides.toReversed()) {
      const before = await server.cpuSeconds()
      await load.run(requests)
      rates.push(requests / ((await server.cpuSeconds()) - before))
    }
  }
  for (const { load } of sides) load.close()
  const [rates = [], baselines = []] = sides.map((side) => side.rates)
  return { rates, baselines }
}
