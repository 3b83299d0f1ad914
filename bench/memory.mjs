// What 200,000 unpaid requests leave behind in the server.
import { createLoad } from './load.mjs'
import { startServer } from './processes.mjs'
import { round } from './statistics.mjs'

export async function benchMemory({ provider, say }) {
  const server = startServer('node', 'ours', { provider })
  const url = await server.ready
  // The heap grows to its working size first; what counts is what comes on top.
  const load = createLoad(url)
  await load.run(60_000)
  const before = await server.usage('memory')
  await load.run(200_000)
  const after = await server.usage('memory')
  load.close()
  await server.stop()
  const megabytes = (usage) => usage.rss / 1e6
  const growth = megabytes(after) - megabytes(before)
  say(`memory/unpaid-200k: ${round(growth)} MB more than after warm-up`)
  return [
    {
      name: 'memory/unpaid-200k',
      unit: 'MB of growth',
      value: round(growth),
      baseline: round(megabytes(before)),
      ratio: round(megabytes(after) / megabytes(before), 3),
      spread: 0,
    },
  ]
}
