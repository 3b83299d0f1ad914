// Our facilitator.
import { createServer } from 'node:http'
import { createPaystileRoutes } from '../../dist/index.js'

/** @param {import('../../dist/index.js').RoutesOptions} options */
export async function open(options) {
  const routes = createPaystileRoutes({ ...options, log: { info: () => {}, warn: () => {}, error: () => {} } })
  const server = createServer(routes.listener)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    facts: { url: `http://127.0.0.1:${address.port}/facilitator` },
    answers: {},
    close: async () => {
      server.close()
      server.closeAllConnections()
      await routes.close()
    },
  }
}
