// The worker that pays, as `paystile worker` runs it.
import { handleFor } from '../../dist/server/assemble.js'
import { startMoneyOut } from '../../dist/service/assemble-rewards.js'
import { readRoutesConfig } from '../../dist/service/options.js'

const silent = { info: () => {}, warn: () => {}, error: () => {} }

/** @param {import('../../dist/index.js').RoutesOptions} options */
export async function open(options) {
  const config = readRoutesConfig({ ...options, log: silent }, {})
  const handle = handleFor(config.service, silent)
  const money = await startMoneyOut(await handle.get(), config)
  return {
    facts: {},
    answers: {},
    close: async () => {
      await money.stop()
      await handle.release()
    },
  }
}
