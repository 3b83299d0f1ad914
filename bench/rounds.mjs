// Servers under the same load in turn. Compared is their CPU time: that is the limit of a busy server, and far steadier
// than wall time.
import { createLoad } from './load.mjs'

/**
 * @typedef {import('./load.mjs').LoadOptions} LoadOptions
 * @typedef {{ facts: { url: string }, headers?: Record<string, string>, cpuSeconds: () => Promise<number> }} Side
 */

/**
 * Returns the rates of each round, in requests per second of CPU time.
 *
 * @param {{ ours: Side, bare: Side }} servers
 * @param {import('./sizes.mjs').Rounds} size
 * @param {LoadOptions} [options]
 */
export async function compareRounds({ ours, bare }, size, options = {}) {
  const [rates = [], baselines = []] = (await measureCpu([ours, bare], size, options)).map((times) =>
    times.map((time) => 1e6 / time),
  )
  return { rates, baselines }
}

/**
 * Returns one list for each server: microseconds of CPU time for a request, by round.
 *
 * @param {readonly Side[]} servers
 * @param {import('./sizes.mjs').Rounds} size
 * @param {LoadOptions} [options]
 */
export async function measureCpu(servers, { warmUp, rounds, requests }, options = {}) {
  const sides = []
  for (const server of servers) {
    const headers = { ...options.headers, ...server.headers }
    // Opened when it is needed: a server closes connections that send no request.
    const load = createLoad(server.facts.url, { ...options, headers })
    await load.run(warmUp)
    sides.push({ server, load, times: /** @type {number[]} */ ([]) })
  }
  for (let round = 0; round < rounds; round += 1) {
    // The order alternates, so that no side always follows the same one.
    for (const { server, load, times } of round % 2 === 0 ? sides : sides.toReversed()) {
      const before = await server.cpuSeconds()
      await load.run(requests)
      times.push((((await server.cpuSeconds()) - before) / requests) * 1e6)
    }
  }
  for (const { load } of sides) load.close()
  return sides.map(({ times }) => times)
}
