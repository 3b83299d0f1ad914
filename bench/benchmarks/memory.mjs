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
  await load.run(warmUp)
  const first = await server.memory()
  await load.run(requests)
  const last = await server.memory()
  load.close()
  await server.stop()
  const [before, after] = [readLive(first), readLive(last)]
  const size = round((last.rss - first.rss) / 1e6)
  say(`memory/unpaid-200k: ${round(after - before)} MB more in use than after the warm-up (process: ${size} MB)`)
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

/**
 * The memory in use after a collection, in MB. The size of the process says less: that of a bare server grows by 5 MB as
 * well, because V8 enlarges the room for new objects.
 *
 * @param {NodeJS.MemoryUsage} usage
 */
function readLive({ heapUsed, external }) {
  return (heapUsed + external) / 1e6
}
