/** The load: payments in waves, each of them claimed on several servers at the same moment until somebody has it. */
import { Agent, request as open } from 'node:http'
import { generateKeyPairSigner } from '@solana/kit'
import { createWallet } from '../../dist/chain/keys/keypair.js'
import { fetchTransport } from '../../dist/chain/rpc/fetch-transport.js'
import { createRpc } from '../../dist/chain/rpc/rpc.js'
import { readLifetime, submit } from '../../dist/chain/send/send.js'
import { signPayment } from '../../dist/chain/wallets/payment.js'

const payers = 2
const wave = 8
/** One wave of a payer after the other at most so fast: the machine has servers to start as well. */
const waveMs = 1_300
/** Payments that nobody has yet: what the dead hold must wait for its lease, and others are made meanwhile. */
const mostOpen = 48
const lines = 3
const landingMs = 20_000
const longestWaitMs = 700
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export async function createPayers({ chain, fund, recipient, ports }) {
  const rpc = createRpc({ urls: [chain.rpcUrl], transport: fetchTransport })
  const agent = new Agent({ keepAlive: true })
  const wallets = []
  for (let index = 0; index < payers; index += 1) {
    const wallet = await createWallet(await generateKeyPairSigner())
    await fund(wallet.address, { SOL: '100000000000', USDC: '1000000000000' })
    wallets.push(wallet)
  }
  const payments = []
  const unserved = new Set()

  const ask = (port, headers) => request(agent, port, headers)
  const anyPort = () => ports[Math.floor(Math.random() * ports.length)]
  /** On different servers, where there are enough. */
  const somePorts = () => {
    const first = Math.floor(Math.random() * ports.length)
    return Array.from({ length: lines }, (_, index) => ports[(first + index) % ports.length])
  }

  async function payWave(wallet) {
    const challenges = await Promise.all(Array.from({ length: wave }, () => ask(anyPort())))
    const requestIds = challenges
      .filter((answer) => answer?.status === 402)
      .map(({ body }) => JSON.parse(body).requestId)
    if (requestIds.length === 0) return pause(20)
    for (const { tx, proof } of await pay({ rpc, chain, recipient, wallet }, requestIds)) {
      const payment = { tx, proof, received: 0 }
      payments.push(payment)
      unserved.add(payment)
      void claim(payment).finally(() => unserved.delete(payment))
    }
  }

  /** The same proof on several servers at once. Whoever is told to wait comes again with all the others. */
  async function claim(payment) {
    for (let wait = 60; ; wait = Math.min(1.5 * wait, longestWaitMs)) {
      const answers = await Promise.all(somePorts().map((port) => show(payment, port)))
      if (answers.some(isDecided) || isOver()) return
      await pause(wait * (0.5 + Math.random()))
    }
  }

  async function show(payment, port) {
    const answer = await ask(port, { 'payment-proof': payment.proof })
    if (isWhole(answer)) payment.received += 1
    return answer
  }

  let isOver = () => false
  return {
    payments,
    async load(until) {
      isOver = until
      const paying = wallets.map(async (wallet) => {
        while (!isOver()) {
          if (unserved.size < mostOpen) await Promise.all([payWave(wallet), pause(waveMs)])
          else await pause(20)
        }
      })
      await Promise.all(paying)
      while (unserved.size > 0) await pause(20)
    },
    /** Asks for a payment once more: who has it gets no second one, who has not gets it now, and then no second one. */
    async askAgain(payment) {
      for (let time = 0; time < 200; time += 1) {
        const answer = await show(payment, anyPort())
        if (isDecided(answer) && !isWhole(answer)) return
        if (!isWhole(answer)) await pause(50)
      }
    },
    close() {
      agent.destroy()
      rpc.close()
    },
  }
}

/** The whole answer of a server. Undefined if it breaks off. */
export function request(agent, port, headers = {}) {
  return new Promise((resolve) => {
    const call = open({ host: '127.0.0.1', port, path: '/data', headers, agent, timeout: 10_000 }, (response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('end', () => resolve(response.complete ? { status: response.statusCode, body } : undefined))
      response.on('error', () => resolve(undefined))
    })
    call.on('error', () => resolve(undefined))
    call.on('timeout', () => call.destroy())
    call.end()
  })
}

/** Pays for all of them at once, and returns the payments that landed. */
export async function pay({ rpc, chain, recipient, wallet }, requestIds) {
  const lifetime = await readLifetime(rpc)
  if (!lifetime) return []
  const { address: asset, tokenProgram } = chain.mints.USDC
  const token = { asset, units: 10_000n, decimals: 6, tokenProgram }
  const sent = await Promise.all(
    requestIds.map(async (requestId) => {
      const signed = await signPayment({ ...lifetime, token, recipient, requestId }, wallet)
      await submit(rpc, signed)
      return { tx: signed.signature, proof: `tx=${signed.signature}; requestId=${requestId}; payer=${wallet.address}` }
    }),
  )
  const until = Date.now() + landingMs
  for (;;) {
    const answer = await rpc.call('getSignatureStatuses', [sent.map(({ tx }) => tx)])
    const statuses = answer.kind === 'answered' ? /** @type {any} */ (answer.result)?.value : []
    const landed = sent.filter((_, index) => {
      const status = statuses[index]
      return status?.err === null && status.confirmationStatus !== 'processed'
    })
    if (landed.length === sent.length || Date.now() > until) return landed
    await pause(25)
  }
}

export function isWhole(answer) {
  return answer?.status === 200 && answer.body === 'the first.the second'
}

/** Asking again would not change anything. */
export function isDecided(answer) {
  return isWhole(answer) || (answer?.status === 409 && answer.body.includes('payment_replay'))
}
