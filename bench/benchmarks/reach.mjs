// Purchases by unmodified clients of x402 and MPP from our server, beside purchases of our own client from it, and beside
// purchases of the same clients from their own servers; and purchases of our client from the server of x402. All on one
// chain, in turn. The time is that of one purchase at a time, the CPU time that of a busy server. All programs are warm:
// a cold server takes several times as long.
import { join } from 'node:path'
import { createWallet, fetchWith402 } from '../../dist/client/index.js'
import { createKey, readAddress } from '../keys.mjs'
import { loadPeers } from '../peers.mjs'
import { compareMedians } from '../statistics.mjs'

/**
 * @typedef {import('../rounds.mjs').Side} Server
 * @typedef {'x402' | 'mpp'} Protocol
 * @typedef {Record<Protocol | 'native' | 'ownAtPeer', (url: string) => Promise<Response>>} Payer One wallet, with all clients.
 * @typedef {{ server: Server, by: keyof Payer, times: number[], cpus: number[] }} Buyer
 */

const slotMs = 50
/** Payers of a busy server. Each has one purchase under way, because a sponsor accepts no more of one wallet. */
const payersAtOnce = 8
/**
 * Each purchase from the server of MPP takes two seconds, because it asks for the confirmation in that interval. So its
 * share of the purchases is smaller.
 */
const patientEvery = 6
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ warmUp: number, rounds: number, busyRounds: number, purchases: number }} size Purchases of each client in the
 *   warm-up and in a round of the busy server.
 */
export async function benchReach(setting, { warmUp, rounds, busyRounds, purchases }) {
  const { say } = setting
  const payers = await createPayers(setting)
  const { ours, x402, mpp } = await startServers(setting)
  /** @returns {Buyer} */
  const create = (/** @type {Server} */ server, /** @type {keyof Payer} */ by) => ({ server, by, times: [], cpus: [] })
  const buyers = {
    native: create(ours, 'native'),
    x402: create(ours, 'x402'),
    x402Peer: create(x402, 'x402'),
    ownAtPeer: create(x402, 'ownAtPeer'),
    mpp: create(ours, 'mpp'),
    mppPeer: create(mpp, 'mpp'),
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

/** @param {import('../setting.mjs').Setting} setting */
async function startServers(setting) {
  const provider = {
    ...(await setting.provider()),
    ledger: join(setting.home, 'reach.sqlite'),
    sponsor: /** @type {const} */ (true),
  }
  const ours = await setting.processes.start('server', { framework: 'express', provider }, { as: 'express, sponsored' })
  return { ours, x402: await startPeer(setting, 'x402'), mpp: await startPeer(setting, 'mpp') }
}

/**
 * @param {import('../setting.mjs').Setting} setting
 * @returns {Promise<readonly [Payer, ...Payer[]]>}
 */
async function createPayers(setting) {
  const { rpcUrl: rpc, fund } = await setting.localnet()
  const { createPeerClients } = await loadPeers()
  const create = async () => {
    const key = createKey()
    await fund(readAddress(key), { SOL: 10_000_000_000n, USDC: 1_000_000_000n })
    const wallet = await createWallet(key)
    const clients = await createPeerClients({ rpcUrl: rpc, key })
    return {
      ...clients,
      native: (/** @type {string} */ url) => fetchWith402(url, { wallet, rpc }),
      ownAtPeer: (/** @type {string} */ url) => fetchWith402(url, { wallet, rpc, network: 'localnet' }),
    }
  }
  const first = await create()
  /** @type {Payer[]} */
  const others = []
  while (others.length + 1 < payersAtOnce) others.push(await create())
  return [first, ...others]
}

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {Protocol | 'facilitator'} protocol
 */
export async function startPeer(setting, protocol) {
  const { fund, rpcUrl, mints } = await setting.localnet()
  const key = createKey()
  await fund(readAddress(key), { SOL: 10_000_000_000n })
  const { recipient } = await setting.provider()
  const seller = { protocol, rpcUrl, mint: mints['USDC']?.address ?? '', recipient, key }
  return setting.processes.start('peer-server', seller, { as: protocol })
}

/** Else every purchase would begin at the same moment of a slot: right after the last one was confirmed. */
export function pauseWithinSlot() {
  return pause(Math.random() * slotMs)
}

/**
 * @param {Buyer} buyer
 * @param {Payer} payer
 */
async function buy({ server, by }, payer) {
  const { url } = server.facts
  const response = await payer[by](url)
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${body}`)
}

/**
 * Measures the time of one purchase.
 *
 * @param {Buyer} buyer
 * @param {Payer} payer
 */
async function buyOnce(buyer, payer) {
  // A server may have work left after its last answer.
  await pause(slotMs)
  await pauseWithinSlot()
  const begun = performance.now()
  await buy(buyer, payer)
  buyer.times.push(performance.now() - begun)
}

/**
 * Several payers buy side by side.
 *
 * @param {Buyer} buyer
 * @param {readonly Payer[]} payers
 * @param {number} amount
 */
async function buyMany(buyer, payers, amount) {
  let left = amount
  await Promise.all(
    payers.map(async (payer) => {
      for (; left > 0; ) {
        left -= 1
        await buy(buyer, payer)
      }
    }),
  )
}

/**
 * Measures the CPU time of a busy server.
 *
 * @param {Buyer} buyer
 * @param {readonly Payer[]} payers
 * @param {number} amount
 */
async function buyMeasured(buyer, payers, amount) {
  const before = await buyer.server.cpuSeconds()
  await buyMany(buyer, payers, amount)
  // A server may have work left after its last answer.
  await pause(slotMs)
  buyer.cpus.push((((await buyer.server.cpuSeconds()) - before) / amount) * 1000)
}

/**
 * @param {Protocol} name
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
