// The worker that pays, as `paystile worker` runs it: `payouts-worker.mjs <options as JSON>`.
import { handleFor } from '../dist/server/assemble.js'
import { startMoneyOut } from '../dist/service/assemble-rewards.js'
import { readRoutesConfig } from '../dist/service/options.js'

const { key, rewards, ...options } = JSON.parse(process.argv[2])
const silent = { info: () => {}, warn: () => {}, error: () => {} }
const config = readRoutesConfig({ ...options, log: silent, rewards: { ...rewards, key: Uint8Array.from(key) } }, {})
const handle = handleFor(config.service, silent)
const money = await startMoneyOut(await handle.get(), config)
process.once('message', async () => {
  await money.stop()
  await handle.release()
  process.exit(0)
})
process.send({ kind: 'ready', url: '' })
