// The worker that pays, as `paystile worker` runs it.
import { readRoutesConfig } from '../../dist/api/options.js'
import { startPayoutWorkers } from '../../dist/compose/payouts.js'
import { openHandle } from '../../dist/compose/paywall.js'

const silent = { info: () => {}, warn: () => {}, error: () => {} }

/** @param {import('../../dist/index.js').RoutesOptions} options */
export async function open(options) {
  const config = readRoutesConfig({ ...options, log: silent }, {})
  const handle = openHandle(config.service, silent)
  const money = await startPayoutWorkers(await handle.get(), { ...config, waits: false })
  return {
    facts: {},
    answers: {},
    close: async () => {
      await money.stop()
      await handle.release()
    },
  }
}
