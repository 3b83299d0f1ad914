// Purchases by unmodified clients of x402 and MPP from our server, beside purchases of our own client from it, and beside
// purchases of the same clients from their own servers; and purchases of our client from the server of x402. All on one
// chain, in turn. The time is that of one purchase at a time, the CPU time that of a busy server. All programs are warm:
// a cold server takes several times as long.
import { buyMany, buyMeasured, buyOnce, createBuyer, createPayers, prepareOurs, startPeer } from '../buyers.mjs'
import { compareMedians } from '../statistics.mjs'

/**
 * @typedef {import('../buyers.mjs').Server} Server
 * @typedef {import('../buyers.mjs').Buyer} Buyer
 */

/**
 * Each purchase from the server of MPP takes two seconds, because it asks for the confirmation in that interval. So its
 * share of the purchases is smaller.
 */
const patientEvery = 6

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ warmUp: number, rounds: number, busyRounds: number, purchases: number }} size Purchases of each client in the
 *   warm-up and in a round of the busy server.
 */
export async function benchReach(setting, { warmUp, rounds, busyRounds, purchases }) {
  const { say } = setting
  const payers = await createPayers(setting)
  const ours = await (await prepareOurs(setting, 'reach'))()
  const [x402, mpp] = [await startPeer(setting, 'x402'), await startPeer(setting, 'mpp')]
  const buyers = {
    native: createBuyer(ours, 'native'),
    x402: createBuyer(ours, 'x402'),
    x402Peer: createBuyer(x402, 'x402'),
    ownAtPeer: createBuyer(x402, 'ownAtPeer'),
    mpp: createBuyer(ours, 'mpp'),
    mppPeer: createBuyer(mpp, 'mpp'),
  }
  const all = Object.values(buyers)
  const shareOf = (/** @type {Buyer} */ buyer, /** @type {number} */ amount) =>
    buyer === buyers.mppPeer ? Math.ceil(amount / patientEvery) : amount
  // The servers are warmed up side by side.
  const warm = async (/** @type {Server} */ server) => {
    for (const buyer of all) if (buyer.server === server) await buyMany(buyer, payers, shareOf(buyer, warmUp))
  }
  await Promise.all([warm(ours), warm(x402), warm(mpp)])
  for (let turn = 0; turn < rounds; turn += 1) {
    const isPatient = turn % patientEvery === 0
    for (const buyer of all) if (buyer !== buyers.mppPeer || isPatient) await buyOnce(buyer, payers[0])
  }
  for (let turn = 0; turn < busyRounds; turn += 1) {
    const busy = [buyers.x402, buyers.x402Peer, buyers.mpp, buyers.mppPeer]
    // The order alternates, so that no side always follows the same one.
    for (const buyer of turn % 2 === 0 ? busy : busy.toReversed())
      await buyMeasured(buyer, payers, shareOf(buyer, purchases))
  }
  await Promise.all([ours.stop(), x402.stop(), mpp.stop()])
  const { native, x402Peer, ownAtPeer, mppPeer } = buyers
  const rows = [
    ...compare('x402', buyers.x402, { native, peer: x402Peer }),
    ...compare('mpp', buyers.mpp, { native, peer: mppPeer }),
    compareMedians('reach/client-to-peer', 'ms', ownAtPeer.times, x402Peer.times),
  ]
  for (const { name, ratio, value, baseline } of rows) say(`${name}: ${ratio} (${value} and ${baseline})`)
  return rows
}

/**
 * @param {import('../buyers.mjs').Protocol} name
 * @param {Buyer} ours
 * @param {{ native: Buyer, peer: Buyer }} others
 */
function compare(name, { times, cpus }, { native, peer }) {
  return [
    compareMedians(`reach/${name}-to-native`, 'ms', times, native.times),
    compareMedians(`reach/${name}-to-peer`, 'ms', times, peer.times),
    compareMedians(`reach/${name}-cpu-to-peer`, 'ms of server CPU', cpus, peer.cpus),
  ]
}
