/**
 * Unmodified clients of x402 and MPP that buy from servers which are killed, and a thief who reads the chain.
 *
 * A client sends its credential once. If that request ends without an answer, the buyer sends the same credential again
 * until its payment is served, or cannot be.
 */
import { generateKeyPairSync } from 'node:crypto'
import { createJiti } from 'jiti'
import { encodeBase58 } from '../../dist/core/encoding/base58.js'
import { isDecided, isWhole } from './payers.mjs'

const protocols = /** @type {const} */ (['x402', 'mpp'])
const buyersOfEach = 3
const retryMs = 100
const longestMs = 60_000
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
/** Of the test, so that no client is limited for the failures of another. */
const anyAddress = () => Array.from({ length: 4 }, () => Math.floor(Math.random() * 256)).join('.')

/** The 64 bytes of a new key. */
export function createKey() {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return Uint8Array.from([...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')])
}

export function readAddress(key) {
  return encodeBase58(key.slice(32))
}

export async function createBuyers({ chain, fund, observer, ports }) {
  /** @type {typeof import('../interop/peers.ts')} */
  const { createPeerClients } = await createJiti(import.meta.url, { fsCache: false }).import('../interop/peers.ts')
  const purchases = []
  const thefts = { attempts: 0, thefts: 0 }
  const anyPort = () => ports[Math.floor(Math.random() * ports.length)]

  /** Undefined when the server died, or was dead. */
  const ask = async (path, headers) => {
    try {
      const init = { headers: { ...headers, 'x-forwarded-for': anyAddress() }, signal: AbortSignal.timeout(10_000) }
      const response = await fetch(`http://127.0.0.1:${anyPort()}${path}`, init)
      return { status: response.status, headers: response.headers, body: await response.text() }
    } catch {
      return undefined
    }
  }

  async function createBuyer(protocol) {
    const key = createKey()
    const payer = readAddress(key)
    await fund(payer, { USDC: '1000000000' })
    let purchase
    /** The fetch under the client: it keeps the credential, and finds a living server for the question before it. */
    const carry = async (input, init) => {
      const request = new Request(input, init)
      const { pathname, search } = new URL(request.url)
      const headers = readCredential(request.headers)
      if (headers) {
        purchase.headers = headers
        const answer = await withThief(purchase, () => ask(`${pathname}${search}`, headers))
        if (isWhole(answer)) purchase.received += 1
        // Nothing of this payment can land. Some clients pay the new challenge at once.
        if (isFresh(answer)) purchase.requestId = JSON.parse(answer.body).requestId
        return answer ? new Response(answer.body, answer) : new Response('', { status: 503 })
      }
      for (let until = Date.now() + longestMs; ; await pause(retryMs)) {
        const answer = await ask(`${pathname}${search}`, Object.fromEntries(request.headers))
        if (Date.now() > until) throw new Error(`${purchase.path} is not sold: ${answer?.status} ${answer?.body}`)
        if (answer?.status !== 402) continue
        purchase.requestId = JSON.parse(answer.body).requestId
        return new Response(answer.body, answer)
      }
    }
    const client = (await createPeerClients({ rpcUrl: chain.rpcUrl, key }, carry))[protocol]
    const known = new Set()

    /** Presents the proof of the payment at any server, from the moment when the chain shows it. */
    const withThief = async ({ path, requestId }, send) => {
      let isOver = false
      const steal = async () => {
        while (!isOver) {
          const found = await observer.ask('getSignaturesForAddress', [payer, { limit: 1, commitment: 'confirmed' }])
          const tx = found[0]?.signature
          if (tx === undefined || known.has(tx)) {
            await pause(5)
            continue
          }
          const proof = `tx=${tx}; requestId=${requestId}; payer=${payer}`
          const answer = await ask(path, { 'payment-proof': proof })
          thefts.attempts += 1
          if (answer?.status === 200) thefts.thefts += 1
        }
      }
      const theft = steal()
      const answer = await send()
      isOver = true
      await theft
      return answer
    }

    return async () => {
      purchase = { path: `/data?${purchases.length}`, requestId: '', headers: undefined, received: 0, isVoid: false }
      purchases.push(purchase)
      // A server that has just started may not offer the protocol yet.
      for (let until = Date.now() + longestMs; !purchase.headers; await pause(retryMs)) {
        const { status } = await client(`http://127.0.0.1:1${purchase.path}`)
        if (Date.now() > until) throw new Error(`${protocol} is not offered: ${status}`)
      }
      await redeem(purchase)
      for (const { signature } of await observer.ask('getSignaturesForAddress', [payer, { commitment: 'confirmed' }]))
        known.add(signature)
    }
  }

  /** Sends the same credential until the payment is served, or was, or can no longer land. */
  async function redeem(purchase) {
    for (let until = Date.now() + longestMs; purchase.received === 0; await pause(retryMs)) {
      const answer = await ask(purchase.path, purchase.headers)
      if (isFresh(answer)) purchase.isVoid = true
      if (isWhole(answer)) purchase.received += 1
      else if (isDecided(answer) || isFresh(answer)) return
      else if (Date.now() > until) throw new Error(`${purchase.path} is not served: ${answer?.status} ${answer?.body}`)
    }
  }

  const buyers = await Promise.all(
    protocols.flatMap((name) => Array.from({ length: buyersOfEach }, () => createBuyer(name))),
  )
  return {
    purchases,
    thefts,
    async load(isOver) {
      await Promise.all(
        buyers.map(async (buy) => {
          while (!isOver()) await buy()
        }),
      )
    },
    /** Sends a credential once more. It gets nothing. */
    async askAgain(purchase) {
      for (let until = Date.now() + longestMs; Date.now() < until; await pause(retryMs)) {
        const answer = await ask(purchase.path, purchase.headers)
        if (isWhole(answer)) purchase.received += 1
        else if (isDecided(answer)) return
      }
      throw new Error(`${purchase.path} is not decided`)
    },
  }
}

/** The transaction was never recorded, and can no longer land, because its blockhash has expired. */
function isFresh(answer) {
  return answer?.status === 402 && (answer.headers.has('payment-required') || answer.headers.has('www-authenticate'))
}

function readCredential(headers) {
  const signature = headers.get('payment-signature')
  if (signature) return { 'payment-signature': signature }
  const authorization = headers.get('authorization')
  return authorization?.startsWith('Payment ') ? { authorization } : undefined
}
