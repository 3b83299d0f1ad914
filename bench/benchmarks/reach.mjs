// Purchases by unmodified clients of x402 and MPP from our server, beside purchases of our own client from it, and beside
// purchases of the same clients from their own servers; and purchases of our client from the server of x402. All on one
// chain, in turn.
import { join } from 'node:path'
import { fetchWith402, initAgentWallet } from '../../dist/client/index.js'
import { readKeyFile } from '../../dist/host/keys/key-file.js'
import { createKey, readAddress } from '../keys.mjs'
import { loadPeers } from '../peers.mjs'
import { compareMedians } from '../statistics.mjs'

/**
 * @typedef {import('../rounds.mjs').Side} Server
 * @typedef {'x402' | 'mpp'} Protocol
 * @typedef {{ server: Server, buy: (url: string) => Promise<Response>, times: number[], cpus: number[] }} Buyer
 */

const slotMs = 50
/** Each purchase from the server of MPP takes two seconds, because it asks for the confirmation in that interval. */
const patientEvery = 8
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ warmUp: number, rounds: number }} size
 */
export async function benchReach(setting, { warmUp, rounds }) {
  const { processes, home, say } = setting
  const localnet = await setting.localnet()
  const { rpcUrl: rpc } = localnet
  const wallet = await initAgentWallet()
  await localnet.fund(wallet.address, { SOL: 10_000_000_000n, USDC: 1_000_000_000n })
  const clients = await (await loadPeers()).createPeerClients({ rpcUrl: rpc, key: readKeyFile(wallet.path) })
  const provider = {
    ...(await setting.provider()),
    ledger: join(home, 'reach.sqlite'),
    sponsor: /** @type {const} */ (true),
  }
  const ours = await processes.start('server', { framework: 'express', provider }, { as: 'express, sponsored' })
  const [x402, mpp] = [await startPeer(setting, 'x402'), await startPeer(setting, 'mpp')]
  const create = (/** @type {Server} */ server, /** @type {Buyer['buy']} */ buy) => ({
    server,
    buy,
    times: [],
    cpus: [],
  })
  const buyers = {
    native: create(ours, (url) => fetchWith402(url, { wallet, rpc })),
    x402: create(ours, clients.x402),
    x402Peer: create(x402, clients.x402),
    ownAtPeer: create(x402, (url) => fetchWith402(url, { wallet, rpc, network: 'localnet' })),
    mpp: create(ours, clients.mpp),
    mppPeer: create(mpp, clients.mpp),
  }
  for (let turn = -warmUp; turn < rounds; turn += 1) {
    const isPatient = turn % patientEvery === 0
    for (const buyer of Object.values(buyers))
      if (buyer !== buyers.mppPeer || isPatient) await buyOnce(buyer, turn >= 0)
  }
  await Promise.all([ours.stop(), x402.stop(), mpp.stop()])
  const { native, x402Peer, ownAtPeer, mppPeer } = buyers
  const rows = [
    ...compare('x402', buyers.x402, { native, peer: x402Peer }),
    ...compare('mpp', buyers.mpp, { native, peer: mppPeer }),
    compareMedians('reach/client-to-peer', 'ms', ownAtPeer.times, x402Peer.times),
  ]
  for (const { name, ratio } of rows) say(`${name}: ${ratio}`)
  return rows
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
 * @param {boolean} isMeasured
 */
async function buyOnce({ server, buy, times, cpus }, isMeasured) {
  await pauseWithinSlot()
  const before = await server.cpuSeconds()
  const begun = performance.now()
  const response = await buy(server.facts.url)
  const body = await response.text()
  const time = performance.now() - begun
  if (response.status !== 200) throw new Error(`${server.facts.url} answered ${response.status}: ${body}`)
  // A server may have work left after its answer.
  await pause(slotMs)
  const cpu = (await server.cpuSeconds()) - before
  if (!isMeasured) return
  times.push(time)
  cpus.push(cpu * 1000)
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
