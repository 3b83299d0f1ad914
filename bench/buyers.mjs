// Purchases from our server and from the servers of other protocols, by unmodified clients and by our own.
import { join } from 'node:path'
import { createWallet, fetchWith402 } from '../dist/client/index.js'
import { createKey, readAddress } from './keys.mjs'
import { loadPeers } from './peers.mjs'

/**
 * @typedef {import('./rounds.mjs').Side} Server
 * @typedef {import('../tests/interop/peers.ts').PeerName} PeerName
 * @typedef {import('../tests/interop/peers.ts').PeerProtocol} Protocol
 * @typedef {Record<Protocol | 'native' | 'ownAtPeer', (url: string) => Promise<Response>>} Payer One wallet, with all clients.
 * @typedef {{ server: Server, by: keyof Payer, times: number[], cpus: number[] }} Buyer
 */

const slotMs = 50
/** Payers of a busy server. Each has one purchase under way, because a sponsor accepts no more of one wallet. */
const payersAtOnce = 8
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * @param {Server} server
 * @param {keyof Payer} by
 * @returns {Buyer}
 */
export function createBuyer(server, by) {
  return { server, by, times: [], cpus: [] }
}

/**
 * Our server on Express with a durable ledger and a sponsor. Each call of the result starts one more on that ledger.
 *
 * @param {import('./setting.mjs').Setting} setting
 * @param {string} name Of the ledger.
 */
export async function prepareOurs(setting, name) {
  const ledger = join(setting.home, `${name}.sqlite`)
  const provider = { ...(await setting.provider()), ledger, sponsor: /** @type {const} */ (true) }
  return () => setting.processes.start('server', { framework: 'express', provider }, { as: 'express, sponsored' })
}

/**
 * @param {import('./setting.mjs').Setting} setting
 * @returns {Promise<readonly [Payer, ...Payer[]]>}
 */
export async function createPayers(setting) {
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
 * @param {import('./setting.mjs').Setting} setting
 * @param {PeerName | 'facilitator'} peer
 */
export async function startPeer(setting, peer) {
  return (await preparePeer(setting, peer))()
}

/**
 * Each call of the result starts one more server with the same keys.
 *
 * @param {import('./setting.mjs').Setting} setting
 * @param {PeerName | 'facilitator'} peer
 */
export async function preparePeer(setting, peer) {
  const { fund, rpcUrl, mints } = await setting.localnet()
  const key = createKey()
  await fund(readAddress(key), { SOL: 10_000_000_000n })
  const { recipient } = await setting.provider()
  const seller = { peer, rpcUrl, mint: mints['USDC']?.address ?? '', recipient, key }
  return () => setting.processes.start('peer-server', seller, { as: peer })
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
export async function buyOnce(buyer, payer) {
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
export async function buyMany(buyer, payers, amount) {
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
export async function buyMeasured(buyer, payers, amount) {
  const before = await buyer.server.cpuSeconds()
  await buyMany(buyer, payers, amount)
  // A server may have work left after its last answer.
  await pause(slotMs)
  buyer.cpus.push((((await buyer.server.cpuSeconds()) - before) / amount) * 1000)
}
