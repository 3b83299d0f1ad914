/** Payments that earn somebody something, on the chain and in the ledger, all the time: made, final, registered, delivered. */
import { generateKeyPairSigner } from '@solana/kit'
import { createWallet } from '../../dist/chain/keys/keypair.js'
import { fetchTransport } from '../../dist/chain/rpc/fetch-transport.js'
import { createRpc } from '../../dist/chain/rpc/rpc.js'
import { readLifetime, submit } from '../../dist/chain/send/send.js'
import { signPayment } from '../../dist/chain/wallets/payment.js'
import { decodeAddress, decodeSignature } from '../../dist/core/encoding/base58.js'

const everyMs = 200
const lines = 6
const leaseMs = 20_000
const dayMs = 86_400_000
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export async function createEarnings({ chain, fund, collector, service, count, endpoint }) {
  const rpc = createRpc({ urls: [chain.rpcUrl], transport: fetchTransport })
  const { ledger, pseudonyms } = service
  const { address: asset, tokenProgram, decimals } = chain.mints.USDC
  /** The result of a call; undefined where the node gave none. */
  const call = async (/** @type {string} */ method, /** @type {unknown[]} */ params) => {
    const answer = await rpc.call(method, params)
    return answer.kind === 'answered' ? /** @type {any} */ (answer.result) : undefined
  }
  const payers = []
  for (let index = 0; index < count; index += 1) {
    const wallet = await createWallet(await generateKeyPairSigner())
    // Every fourth has no account for what it earns.
    const native = index % 4 === 0 ? {} : { NATIVE: '0' }
    await fund(wallet.address, { SOL: '10000000000', USDC: '1000000000000', ...native })
    const name = pseudonyms.wallet(decodeAddress(wallet.address))
    payers.push({ wallet, address: wallet.address, name, hasPaid: false })
  }
  const payments = []

  async function pay() {
    const lifetime = await readLifetime(rpc)
    if (!lifetime) return []
    const payer = payers[Math.floor(Math.random() * payers.length)]
    // The first one is worth an account.
    const units = BigInt((payer.hasPaid ? 1 : 400_000_000) + Math.floor(Math.random() * 50_000_000))
    const token = { asset, units, decimals, tokenProgram }
    const requestId = `torture-${payments.length}-${Math.random()}`
    const signed = await signPayment({ ...lifetime, token, recipient: collector, requestId }, payer.wallet)
    return [{ signed, payer, units, requestId }]
  }

  /** Sends again what nobody has seen, and registers what is final. Answers what is not yet, and may be. */
  async function follow(under) {
    if (under.length === 0) return under
    const slot = await call('getSlot', [{ commitment: 'finalized' }])
    const config = { searchTransactionHistory: true }
    const statuses = (await call('getSignatureStatuses', [under.map(({ signed }) => signed.signature), config]))?.value
    if (!statuses) return under
    const looked = await Promise.all(under.map((one, index) => look(one, statuses[index], slot)))
    return looked.filter((one) => one !== undefined)
  }

  async function look(one, status, slot) {
    const { signed } = one
    // It lives for 150 slots, and the nodes are 250 behind at the most.
    if (status === null && slot > signed.slot + 500) return undefined
    if (status === null) await submit(rpc, signed)
    if (status?.confirmationStatus !== 'finalized') return one
    const transaction = await call('getTransaction', [
      signed.signature,
      { encoding: 'base64', commitment: 'finalized', maxSupportedTransactionVersion: 0 },
    ])
    if (!transaction) return one
    await register(one, transaction)
    return undefined
  }

  async function register({ signed, payer, units, requestId }, { slot, blockTime }) {
    const tx = decodeSignature(signed.signature)
    const paidAt = blockTime * 1_000
    const rates = { table: { USDC: '1', NATIVE: '0.1' }, source: 'fixed', at: paidAt, decimals: { USDC: 6, NATIVE: 9 } }
    const payment = {
      ...{
        tx,
        request: requestId,
        payer: payer.name,
        scope: `GET ${endpoint}`,
        recipient: collector,
        token: 'USDC',
        endpoint,
      },
      ...{ required: units, received: units, allowance: { unit: 'request', amount: 1n }, slot, paidAt },
      ...{ usableUntil: paidAt + 365 * dayMs, worth: undefined, rates },
      // Half of them are followed to their end by the workers themselves.
      finality: Math.random() < 0.5 ? 'confirmed' : 'finalized',
    }
    payer.hasPaid = true
    payments.push({ tx: signed.signature, payer: payer.address, units })
    // A ledger that is away answers later; what it did before it went away shows in the next answer.
    for (;;) {
      try {
        const taken = await ledger.take({ tx, request: requestId, payment, amount: 1n, leaseMs })
        if (taken.kind === 'spent') return
        if (taken.kind === 'granted' && (await ledger.end(taken.grant, 'delivered', 1n))) return
      } catch (error) {
        if (!(error instanceof Error) || error.name !== 'LedgerUnavailable') throw error
      }
      await pause(100)
    }
  }

  return {
    payments,
    payers: payers.map(({ address, name }) => ({ address, name })),
    /** Until nothing more is to come, and all that was made is registered. */
    async earn(isOver) {
      const line = async () => {
        for (let under = []; !isOver() || under.length > 0; ) {
          const rest = pause(everyMs)
          under = await follow([...under, ...(isOver() ? [] : await pay())])
          await rest
        }
      }
      await Promise.all(Array.from({ length: lines }, line))
    },
    close: rpc.close,
  }
}
