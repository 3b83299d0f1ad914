/** An agent in a process of its own: buys what it is told to, says what happens, and can be made to stop dead on the way. */
import { writeSync } from 'node:fs'
import { loadBundle } from '../harness/bundle.cjs'

const { urls, stopAt, client, copies = [], ...options } = JSON.parse(process.env['AGENT_ORDER'] ?? '{}')
const bundles = [client, ...copies].map(loadBundle)
const clients = bundles.map(({ exported }) => exported)
const [{ initAgentWallet }] = clients
const say = (line) => writeSync(1, `${line}\n`)
const wallet = await initAgentWallet({ create: false })

const reach = (moment) => {
  say(moment)
  if (moment === stopAt) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
const onEvent = ({ kind }) => reach(kind)

/** The moment when a credential of another protocol is recorded, and about to be sent. */
const credentials = ['payment-signature', 'x-payment', 'authorization']
const send = (url, init) => {
  if (credentials.some((name) => init.headers.has(name))) reach('sending')
  return fetch(url, init)
}
const hooks = stopAt === 'sending' ? { fetch: send } : {}

await Promise.all(
  urls.map(async (url, index) => {
    const { fetchWith402 } = clients[index % clients.length]
    try {
      const response = await fetchWith402(url, { ...options, ...hooks, wallet, onEvent })
      if (stopAt === 'reading') {
        await response.body.getReader().read()
        reach('reading')
      }
      say(`got ${await response.text()}`)
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
      say(`error ${code ?? message}`)
    }
  }),
)
for (const { keepCompiled } of bundles) keepCompiled?.()
process.exit(0)
