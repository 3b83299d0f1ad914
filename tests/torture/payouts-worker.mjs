// One worker of the payouts' torture: `payouts-worker.mjs <options as JSON>`. It starts, waits for its turn, and then shares
// out and pays without a pause until it is killed.
import { readRoutesConfig } from '../../dist/api/options.js'
import { startPayoutWorkers } from '../../dist/compose/payouts.js'
import { openHandle } from '../../dist/compose/paywall.js'

const { notes: _notes, key, ...options } = JSON.parse(process.argv[2] ?? '{}')
const silent = { info: () => {}, warn: () => {}, error: () => {} }
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const { rewards, ...config } = readRoutesConfig(
  { ...options, log: silent, rewards: { ...options.rewards, key: Uint8Array.from(key) } },
  {},
)
const handle = openHandle(config.service, silent)

process.once('message', work)
process.once('disconnect', () => process.exit(0))
export const ready = open()

/** Whoever finds neither node nor ledger tries again, as a supervisor would. */
async function open() {
  for (;;) {
    try {
      return await handle.get()
    } catch {
      await pause(50)
    }
  }
}

async function work() {
  process.send?.('working')
  if (!rewards) throw new Error('no rewards are configured')
  const money = await startPayoutWorkers(await ready, {
    ...config,
    rewards: { ...rewards, everyMs: 1 },
    waits: false,
  })
  for (;;) {
    await money.run()
    await pause(20)
  }
}
