// A whole paid request, from its first byte to the last byte of the answer, beside a bare payment with kit.
import { join } from 'node:path'
import { fetchWith402, initAgentWallet } from '../../dist/client/index.js'
import { readKeyFile } from '../../dist/host/keys/key-file.js'
import { pauseWithinSlot } from '../buyers.mjs'
import { createKitSender } from '../kit.mjs'
import { compareMedians, median, round } from '../statistics.mjs'

/** @typedef {{ pay: number, confirm: number, verify: number, serve: number }} Phases */

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ warmUp: number, rounds: number }} size
 */
export async function benchPaid(setting, { warmUp, rounds }) {
  const { processes, say } = setting
  const localnet = await setting.localnet()
  const wallet = await initAgentWallet()
  await localnet.fund(wallet.address, { SOL: 10_000_000_000n, USDC: 1_000_000_000n })
  const kit = await createKitSender(localnet, 'USDC', readKeyFile(wallet.path))
  const provider = { ...(await setting.provider()), ledger: join(setting.home, 'paid.sqlite') }
  /** @type {{ event: string, at: number }[]} */
  const events = []
  const server = await processes.start(
    'server',
    { framework: 'node', provider, events: true },
    { as: 'node, paid end to end', onEvent: (event) => events.push(event) },
  )
  const { url } = server.facts
  /** @type {number[]} */
  const ours = []
  /** @type {number[]} */
  const bare = []
  /** @type {Phases[]} */
  const phases = []
  for (let turn = -warmUp; turn < rounds; turn += 1) {
    events.length = 0
    await pauseWithinSlot()
    const { total, ...parts } = await payOnce(url, wallet, events, localnet.rpcUrl)
    await pauseWithinSlot()
    const begun = performance.now()
    await kit.send(provider.recipient, 10_000n, `baseline ${turn} ${begun}`)
    const alone = performance.now() - begun
    if (turn < 0) continue
    ours.push(total)
    bare.push(alone)
    phases.push(parts)
  }
  await server.stop()
  const result = compareMedians('paid/end-to-end', 'ms', ours, bare)
  const usual = (/** @type {keyof Phases} */ name) => round(median(phases.map((parts) => parts[name])), 1)
  const parts = { pay: usual('pay'), confirm: usual('confirm'), verify: usual('verify'), serve: usual('serve') }
  say(
    `paid/end-to-end: ${result.ratio} of kit's sendAndConfirm (medians of ${rounds}); in ms: ${JSON.stringify(parts)}`,
  )
  return [{ ...result, phases: parts }]
}

/**
 * @param {string} url
 * @param {import('../../dist/index.js').AgentWallet} wallet
 * @param {readonly { event: string, at: number }[]} events The server's events.
 * @param {string} rpc
 */
async function payOnce(url, wallet, events, rpc) {
  /** @type {Record<string, number>} */
  const at = {}
  const now = () => performance.timeOrigin + performance.now()
  const begun = now()
  const response = await fetchWith402(url, {
    wallet,
    rpc,
    onEvent: ({ kind }) => {
      at[kind] ??= now()
    },
  })
  await response.text()
  const ended = now()
  if (response.status !== 200) throw new Error(`The paid request was answered ${response.status}.`)
  const { sent = begun, confirmed = sent, delivered = ended } = at
  const verified = events.find(({ event }) => event === 'verified')?.at ?? delivered
  return {
    total: ended - begun,
    pay: sent - begun,
    confirm: confirmed - sent,
    verify: verified - confirmed,
    serve: ended - verified,
  }
}
