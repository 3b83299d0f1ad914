// A server that sells, a payer who buys from it, and the load of paid requests.
import { createHash, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { generateKeyPairSigner } from '@solana/kit'
import { createWallet } from '../dist/chain/keys/keypair.js'
import { createRpc } from '../dist/chain/rpc/rpc.js'
import { readLifetime } from '../dist/chain/send/send.js'
import { signPayment } from '../dist/chain/wallets/payment.js'
import { createHttpTransport } from '../dist/host/net/transport.js'

/**
 * @typedef {import('./processes.mjs').Part<'server'>} Server
 * @typedef {import('./setting.mjs').Setting} Setting
 * @typedef {Awaited<ReturnType<typeof createPayer>>} Payer
 * @typedef {{ announced: string, secret: string }} ClaimSecret The `Payment-Accept` of a claim, and its end of a proof.
 */

const connectionsPerServer = 32
const pollMs = 20
const longestWaitMs = 60_000
const timeoutMs = 60_000
const noAbort = new AbortController().signal
/** Payments under way at the same time. */
const paymentsAtOnce = 20
const bareBody = '{"answer":42}'
/** Headers that Node writes itself. */
const ownHeaders = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']

/**
 * Starts a server that can be paid and whose watcher follows the chain.
 *
 * @param {Setting} setting
 * @param {Partial<import('../dist/index.js').ProviderOptions>} provider
 * @param {{ as: string, placement?: 'measured' | 'anywhere', streamBytes?: number }} settings
 * @returns {Promise<Server>}
 */
export async function openShop({ processes }, provider, { streamBytes = 0, ...settings }) {
  const server = await processes.start('server', { framework: 'node', provider, streamBytes }, settings)
  await waitFor(
    async () => (await server.ask('metrics')).includes('paystile_watcher_current 1'),
    `the watcher of ${settings.as} follows the chain`,
  )
  return server
}

/**
 * Starts a bare server with the same resource.
 *
 * @param {Setting} setting
 * @param {{ streamBytes?: number, headers?: Record<string, string> }} [settings]
 */
export function openBare({ processes }, { streamBytes = 0, headers = {} } = {}) {
  const bare = { status: 200, body: bareBody, headers }
  return processes.start('server', { framework: 'node', bare, streamBytes }, { as: 'bare' })
}

/**
 * The headers of a paid response, for a bare server to send.
 *
 * @param {string} url
 * @param {string} proof
 */
export async function readPaidHeaders(url, proof) {
  const response = await fetch(url, { headers: { 'Payment-Proof': proof } })
  if (response.status !== 200) throw new Error(`A proof was not served: ${response.status}`)
  await response.text()
  return Object.fromEntries([...response.headers].filter(([name]) => !ownHeaders.includes(name)))
}

/** @returns {ClaimSecret} */
export function createClaimSecret() {
  const secret = randomBytes(24).toString('base64url')
  const announced = `claim=${createHash('sha256').update(secret).digest('base64url')}`
  return { announced, secret: `; claim=${secret}` }
}

/** @param {import('./setting.mjs').Localnet} localnet */
export async function createPayer(localnet) {
  const wallet = await createWallet(await generateKeyPairSigner())
  await localnet.fund(wallet.address, { SOL: 100_000_000_000n, USDC: 1_000_000_000_000n })
  const http = createHttpTransport()
  const rpc = createRpc({ urls: [localnet.rpcUrl], transport: http.transport, timeoutMs })
  const { USDC: mint } = localnet.mints
  if (!mint) throw new Error('The localnet has no USDC.')
  const readBlock = async () => {
    const lifetime = await readLifetime(rpc)
    if (!lifetime) throw new Error('The localnet told no recent block.')
    return lifetime
  }

  /**
   * @param {string} url
   * @param {import('../dist/chain/send/message.js').Lifetime} lifetime
   * @param {Record<string, string>} headers
   */
  const pay = async (url, lifetime, headers) => {
    const { text } = await http.get(url, { timeoutMs, signal: noAbort, headers })
    const { requestId, amounts, recipient } = JSON.parse(text)
    const units = BigInt(Math.round(Number(amounts.USDC) * 1e6))
    const token = { asset: mint.address, decimals: mint.decimals, tokenProgram: mint.tokenProgram, units }
    const { wire, signature } = await signPayment({ ...lifetime, token, recipient, requestId }, wallet)
    const answer = await rpc.call('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }])
    if (answer.kind !== 'answered') throw new Error(`A payment was not sent: ${JSON.stringify(answer)}`)
    return `tx=${signature}; requestId=${requestId}; payer=${wallet.address}`
  }

  return {
    wallet,
    /**
     * Pays once and returns the proof.
     *
     * @param {string} url
     * @param {string} accept The `Payment-Accept` header.
     */
    payOnce: async (url, accept) => pay(url, await readBlock(), { 'Payment-Accept': accept }),
    /**
     * Makes payments that the watchers of all these servers, which share a wallet, have seen. Returns the proofs.
     *
     * @param {readonly [Server, ...Server[]]} servers
     * @param {number} amount
     */
    buy: async (servers, amount) => {
      const before = await Promise.all(servers.map(countSeen))
      /** @type {string[]} */
      const proofs = []
      while (proofs.length < amount) {
        const lifetime = await readBlock()
        const few = Array.from({ length: Math.min(paymentsAtOnce, amount - proofs.length) }, () =>
          pay(servers[0].facts.url, lifetime, {}),
        )
        proofs.push(...(await Promise.all(few)))
      }
      for (const [index, server] of servers.entries()) {
        const wanted = (before[index] ?? 0) + amount
        await waitFor(async () => (await countSeen(server)) >= wanted, `a watcher has seen ${amount} payments`)
      }
      return proofs
    },
  }
}

/**
 * Payments that a server's watcher has heard of.
 *
 * @param {Server} server
 */
async function countSeen(server) {
  const counts = (await server.ask('metrics')).matchAll(/^paystile_payments_seen_total\{.*\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

/**
 * Polls until the claim holds.
 *
 * @param {() => Promise<boolean>} check
 * @param {string} claim
 */
export async function waitFor(check, claim) {
  const begun = performance.now()
  while (!(await check())) {
    if (performance.now() - begun > longestWaitMs) throw new Error(`Waited ${longestWaitMs / 1000} s until ${claim}.`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

/**
 * Presents each proof once. Returns answers per second of the server's CPU time.
 *
 * @param {Pick<Server, 'facts' | 'cpuSeconds'>} server
 * @param {readonly string[]} proofs
 */
export async function claimMeasured(server, proofs) {
  const before = await server.cpuSeconds()
  await claimAll([server], proofs)
  return proofs.length / ((await server.cpuSeconds()) - before)
}

/**
 * Presents each proof once, over connections spread over the servers.
 *
 * @param {readonly Pick<Server, 'facts'>[]} servers
 * @param {readonly string[]} proofs
 */
export async function claimAll(servers, proofs) {
  const waiting = [...proofs]
  const urls = servers.flatMap(({ facts }) => Array(connectionsPerServer).fill(facts.url))
  await Promise.all(urls.map((url) => claimOver(new URL(url), waiting)))
}

/**
 * Presents proofs over one connection while any are left.
 *
 * @param {URL} url
 * @param {string[]} waiting
 * @returns {Promise<void>}
 */
function claimOver({ hostname, port, pathname }, waiting) {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    const next = () => {
      const proof = waiting.pop()
      if (proof === undefined) return socket.end(resolve)
      return socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nPayment-Proof: ${proof}\r\n\r\n`)
    }
    socket.setEncoding('latin1')
    socket.on('connect', next)
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('The server closed a connection.')))
    socket.on('data', (text) => {
      received += text
      if (received.includes('\r\n\r\n') && !received.startsWith('HTTP/1.1 200'))
        return reject(new Error(`A proof was not served: ${received.slice(0, 300)}`))
      if (!received.includes('"answer":42}')) return undefined
      received = ''
      return next()
    })
  })
}
