// Servers of other projects, unmodified, beside ours: the CPU time of a 402, the time of a purchase by the same client, the
// CPU time of a busy server for it, and the deliveries for one payment that is sent many times at once.
import { buyMany, buyMeasured, buyOnce, createBuyer, createPayers, prepareOurs, preparePeer } from '../buyers.mjs'
import { createKey, readAddress } from '../keys.mjs'
import { loadPeers, peers } from '../peers.mjs'
import { measureCpu } from '../rounds.mjs'
import { compareMedians, row } from '../statistics.mjs'

/**
 * @typedef {import('../setting.mjs').Setting} Setting
 * @typedef {import('../sizes.mjs').Sizes['peers']} Size
 * @typedef {import('../processes.mjs').Part<'server' | 'peer-server'>} Server
 * @typedef {import('../peers.mjs').Peer} Peer
 */

const credentialHeaders = ['payment-signature', 'authorization']

/**
 * @param {Setting} setting
 * @param {Size} size
 */
export async function benchPeers(setting, size) {
  const payers = await createPayers(setting)
  const startOurs = await prepareOurs(setting, 'peers')
  const ours = await Promise.all([startOurs(), startOurs()])
  const rows = []
  for (const peer of peers) {
    const startTheirs = await preparePeer(setting, peer.name)
    const theirs = await Promise.all([startTheirs(), startTheirs()])
    rows.push(...(await compareWith(peer, { setting, payers, ours, theirs, size })))
    await Promise.all(theirs.map((server) => server.stop()))
  }
  await Promise.all(ours.map((server) => server.stop()))
  for (const { name, ratio, value, baseline } of rows) setting.say(`${name}: ${ratio} (${value} and ${baseline})`)
  return rows
}

/**
 * @param {Peer} peer
 * @param {object} parts
 * @param {Setting} parts.setting
 * @param {Awaited<ReturnType<typeof createPayers>>} parts.payers
 * @param {readonly [Server, Server]} parts.ours Two on one ledger.
 * @param {readonly [Server, Server]} parts.theirs
 * @param {Size} parts.size
 */
async function compareWith({ name, by }, { setting, payers, ours, theirs, size }) {
  const [unpaid = [], unpaidPeer = []] = await measureCpu([ours[0], theirs[0]], size.unpaid)
  const buyers = [createBuyer(ours[0], by), createBuyer(theirs[0], by)]
  await Promise.all(buyers.map((buyer) => buyMany(buyer, payers, size.warmUp)))
  for (let turn = 0; turn < size.rounds; turn += 1) for (const buyer of buyers) await buyOnce(buyer, payers[0])
  for (let turn = 0; turn < size.busyRounds; turn += 1)
    for (const buyer of turn % 2 === 0 ? buyers : buyers.toReversed()) await buyMeasured(buyer, payers, size.purchases)
  const [own, other] = /** @type {[typeof buyers[0], typeof buyers[0]]} */ (buyers)
  const count = async (/** @type {readonly Server[]} */ servers) => {
    const counts = []
    for (let trial = 0; trial < size.trials; trial += 1)
      counts.push(await countDeliveries(setting, servers, by, size.copies))
    return [Math.max(...counts)]
  }
  const rowFor = async (/** @type {string} */ end, /** @type {number} */ servers) =>
    row(
      `peers/${name}-${end}`,
      'deliveries',
      await count(ours.slice(0, servers)),
      await count(theirs.slice(0, servers)),
    )
  return [
    compareMedians(`peers/${name}-unpaid-cpu`, 'µs of CPU', unpaid, unpaidPeer),
    compareMedians(`peers/${name}-time`, 'ms', own.times, other.times),
    compareMedians(`peers/${name}-cpu`, 'ms of server CPU', own.cpus, other.cpus),
    await rowFor('deliveries', 1),
    await rowFor('deliveries-2', 2),
  ]
}

/**
 * Pays once, and sends the credential many times at once, to all servers in turn. Returns the number of deliveries.
 *
 * @param {Setting} setting
 * @param {readonly Server[]} servers
 * @param {import('../buyers.mjs').Protocol} by
 * @param {number} copies
 */
async function countDeliveries(setting, servers, by, copies) {
  const { rpcUrl, fund } = await setting.localnet()
  const { createPeerClients } = await loadPeers()
  const key = createKey()
  await fund(readAddress(key), { SOL: 10_000_000_000n, USDC: 1_000_000_000n })
  const urls = servers.map(({ facts }) => facts.url)
  let deliveries = 0
  const clients = await createPeerClients({ rpcUrl, key }, async (input, init) => {
    const { headers } = new Request(input, init)
    if (deliveries > 0 || !credentialHeaders.some((name) => headers.has(name))) return fetch(input, init)
    const responses = await Promise.all(
      Array.from({ length: copies }, (_, index) => fetch(urls[index % urls.length] ?? '', { headers })),
    )
    const bodies = await Promise.all(responses.map((response) => response.text()))
    deliveries = responses.filter(({ status }) => status === 200).length
    return new Response(bodies[0] ?? '')
  })
  await clients[by](urls[0] ?? '')
  return deliveries
}
