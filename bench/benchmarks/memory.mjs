// The memory that unpaid requests leave behind in the server.
import { createLoad } from '../load.mjs'
import { round } from '../statistics.mjs'

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ warmUp: number, requests: number }} size
 */
export async function benchMemory({ processes, offlineProvider, say }, { warmUp, requests }) {
  const server = await processes.start(
    'server',
    { framework: 'node', provider: offlineProvider() },
    { as: 'node under 200,000 requests' },
  )
  const load = createLoad(server.facts.url)
  // The heap first grows to its working size. Growth after that counts.
  await load.run(warmUp)
  const before = (await server.memory()).rss / 1e6
  await load.run(requests)
  const after = (await server.memory()).rss / 1e6
  load.close()
  await server.stop()
  say(`memory/unpaid-200k: ${round(after - before)} MB more than after the warm-up`)
  return [
    {
      name: 'memory/unpaid-200k',
      unit: 'MB of growth',
      value: round(after - before),
      baseline: round(before),
      ratio: round(after / before, 3),
      spread: 0,
    },
  ]
}
