/**
 * Unmodified clients of x402 and MPP that buy from servers which are killed, and a thief who reads the chain.
 *
 * A client sends its credential once. If that request ends without an answer, the buyer sends the same credential again
 * until its payment is served, or cannot be. Until then, the thief presents all that the chain shows of it.
 */
import { generateKeyPairSync } from 'node:crypto'
import { createJiti } from 'jiti'
import { encodeBase58 } from '../../dist/core/encoding/base58.js'
import { isDecided, isWhole } from './payers.mjs'

const protocols = /** @type {const} */ (['x402', 'mpp'])
/** A server that has just started may not know yet whether its sponsor can pay. The buyers have no SOL for the fee. */
const isSponsored = {
  x402: (headers) => headers.has('payment-required'),
  mpp: (headers) => {
    const [, request = ''] = /request="([\w-]+)"/.exec(headers.get('www-authenticate') ?? '') ?? []
    return Buffer.from(request, 'base64url').includes('"feePayer":true')
  },
}
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

/** `count` buyers of each protocol. */
export async function createBuyers({ chain, fund, observer, ports, count }) {
  /** @type {typeof import('../interop/peers.ts')} */
  const { createPeerClients } = await createJiti(import.meta.url, { fsCache: false }).import('../interop/peers.ts')
  const purchases = []
  const counts = { attempts: 0, thefts: 0, pending: 0 }
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

  const listTransactions = async (wallet) => {
    const found = await observer.ask('getSignaturesForAddress', [wallet, { limit: 100, commitment: 'confirmed' }])
    return found.map(({ signature }) => signature)
  }

  /** Presents a payment at any server from the moment when the chain shows it, as a proof and as a credential. */
  const startThief = async (purchase, payer) => {
    const known = new Set(await listTransactions(payer))
    let isOver = false
    const steal = async () => {
      while (!isOver) {
        await pause(5)
        const tx = (await listTransactions(payer)).find((one) => !known.has(one))
        if (tx === undefined) continue
        const { path, requestId, headers } = purchase
        const proof = `tx=${tx}; requestId=${requestId}; payer=${payer}`
        const stolen = [ask(path, { 'payment-proof': proof }), ask(path, await rebuild(observer, tx, headers))]
        for (const answer of await Promise.all(stolen)) {
          counts.attempts += 1
          if (answer?.status !== 200) continue
          counts.thefts += 1
          process.stderr.write(`${path} was stolen after ${purchase.answers.join(', ')}\n`)
        }
      }
    }
    const theft = steal()
    return async () => {
      isOver = true
      await theft
    }
  }

  /** Sends the credential, and notes the answer. */
  const present = async (purchase) => {
    const answer = await ask(purchase.path, purchase.headers)
    purchase.answers.push(answer ? `${answer.status} ${readCode(answer)}` : 'nothing')
    if (isWhole(answer)) purchase.received += 1
    return answer
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
        const answer = await present(purchase)
        // Nothing of this payment can land. Some clients pay the new challenge at once.
        if (answer && isFresh(answer)) purchase.requestId = JSON.parse(answer.body).requestId
        return answer ? new Response(answer.body, answer) : new Response('', { status: 503 })
      }
      for (let until = Date.now() + longestMs; ; await pause(retryMs)) {
        const answer = await ask(`${pathname}${search}`, Object.fromEntries(request.headers))
        if (Date.now() > until) throw new Error(`${purchase.path} is not sold: ${answer?.status} ${answer?.body}`)
        if (answer?.status !== 402 || !isSponsored[protocol](answer.headers)) continue
        purchase.requestId = JSON.parse(answer.body).requestId
        return new Response(answer.body, answer)
      }
    }
    const client = (await createPeerClients({ rpcUrl: chain.rpcUrl, key }, carry))[protocol]

    return async () => {
      purchase = { path: `/data?${purchases.length}`, requestId: '', answers: [], received: 0, isVoid: false }
      purchases.push(purchase)
      const stopThief = await startThief(purchase, payer)
      await client(`http://127.0.0.1:1${purchase.path}`)
      await redeem(purchase)
      await stopThief()
      if (purchase.answers.some((answer) => answer.includes('settlement_pending'))) counts.pending += 1
    }
  }

  /** Sends the same credential until the payment is served, or was, or can no longer land. */
  async function redeem(purchase) {
    for (let until = Date.now() + longestMs; purchase.received === 0; await pause(retryMs)) {
      const answer = await present(purchase)
      if (isFresh(answer)) purchase.isVoid = true
      if (isDecided(answer) || isFresh(answer)) return
      if (Date.now() > until) throw new Error(`${purchase.path} is not served: ${answer?.status} ${answer?.body}`)
    }
  }

  const buyers = await Promise.all(protocols.flatMap((name) => Array.from({ length: count }, () => createBuyer(name))))
  return {
    purchases,
    /** Attempts of the thief and their success, and purchases whose buyer was told to wait. */
    counts,
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
        if (isDecided(await present(purchase))) return
      }
      throw new Error(`${purchase.path} is not decided`)
    },
  }
}

/** The credential as the chain shows it: with the complete transaction, and without the secret of its challenge. */
async function rebuild(observer, tx, headers) {
  const config = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 }
  const { transaction } = await observer.ask('getTransaction', [tx, config])
  const [[name, value] = ['', '']] = Object.entries(headers)
  const [, scheme = '', text = ''] = /^(Payment )?(.*)$/.exec(value) ?? []
  const credential = JSON.parse(Buffer.from(text, 'base64').toString())
  credential.payload.transaction = transaction[0]
  if (credential.accepted) delete credential.accepted.extra.claim
  if (credential.challenge) credential.challenge.id = credential.challenge.id.split('.')[0]
  return { [name]: `${scheme}${Buffer.from(JSON.stringify(credential)).toString(scheme ? 'base64url' : 'base64')}` }
}

/** The transaction was never recorded, and can no longer land, because its blockhash has expired. */
function isFresh(answer) {
  return answer?.status === 402 && (answer.headers.has('payment-required') || answer.headers.has('www-authenticate'))
}

function readCode({ body }) {
  return /"code":"(\w+)"/.exec(body)?.[1] ?? ''
}

function readCredential(headers) {
  const signature = headers.get('payment-signature')
  if (signature) return { 'payment-signature': signature }
  const authorization = headers.get('authorization')
  return authorization?.startsWith('Payment ') ? { authorization } : undefined
}
