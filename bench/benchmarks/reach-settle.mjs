// A settlement by our facilitator, beside one by the facilitator of x402. Both over HTTP on one chain, in turn.
import { join } from 'node:path'
import { pauseWithinSlot, startPeer } from '../buyers.mjs'
import { createKey, readAddress } from '../keys.mjs'
import { loadPeers } from '../peers.mjs'
import { compareMedians } from '../statistics.mjs'

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ warmUp: number, rounds: number }} size
 */
export async function benchReachSettle(setting, { warmUp, rounds }) {
  const { processes, home, say } = setting
  const { rpcUrl, fund, mints } = await setting.localnet()
  const mint = mints['USDC']?.address ?? ''
  const key = createKey()
  await fund(readAddress(key), { USDC: 1_000_000_000n })
  const { signPayment } = await loadPeers()
  const { recipient, network, rpc, secret } = await setting.provider()
  const service = { network, rpc, secret, ledger: join(home, 'settle.sqlite'), sponsor: /** @type {const} */ (true) }
  const facilitator = { payTo: [recipient] }
  const sides = [
    await processes.start('facilitator', { ...service, facilitator }, { as: 'facilitator' }),
    await startPeer(setting, 'facilitator'),
  ].map((server) => ({ server, times: /** @type {number[]} */ ([]) }))
  for (let turn = -warmUp; turn < rounds; turn += 1) {
    for (const { server, times } of turn % 2 === 0 ? sides : sides.toReversed()) {
      const settle = await signPayment({ rpcUrl, key }, { url: server.facts.url, mint, recipient })
      await pauseWithinSlot()
      const begun = performance.now()
      const answer = await settle()
      const time = performance.now() - begun
      if (!answer.success) throw new Error(`${server.facts.url} answered ${answer.errorReason}`)
      if (turn >= 0) times.push(time)
    }
  }
  await Promise.all(sides.map(({ server }) => server.stop()))
  const [ours, peer] = sides
  const result = compareMedians('reach/settle-to-peer', 'ms', ours?.times ?? [], peer?.times ?? [])
  say(`${result.name}: ${result.ratio} (${result.value} and ${result.baseline} ms)`)
  return [result]
}
