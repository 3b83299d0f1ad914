// Ten thousand who are owed something are paid by the worker, many in one transaction, beside as many bare transfers by kit,
// one in each, as many of them at the same time as the worker has questions under way. Ours counts from the moment at which
// they are due until all of it is final and written down; theirs until it is confirmed.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import {
  address,
  appendTransactionMessageInstructions,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  getSignatureFromTransaction,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { findAssociatedTokenPda, getTransferCheckedInstruction } from '@solana-program/token'
import { encodeBase58 } from '../dist/core/base58.js'
import { handleFor } from '../dist/server/assemble.js'
import { readRoutesConfig } from '../dist/service/options.js'
import { startProcess } from './processes.mjs'
import { row } from './statistics.mjs'

const payouts = 10_000
const rounds = 3
const mostTransactions = 600
const bareTransfers = 160
const atOnce = 16
const units = 2_000_000_000n
const silent = { info: () => {}, warn: () => {}, error: () => {} }
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export async function benchPayouts({ localnet, home, say }) {
  const [key, bareKey] = [newKey(), newKey()]
  for (const one of [key, bareKey]) await localnet.fund(addressOf(one), { SOL: 10n ** 12n, NATIVE: 10n ** 16n })
  const wallet = addressOf(newKey())
  const share = { wallet, weight: 1 }
  const options = {
    network: 'localnet',
    rpc: localnet.rpcUrl,
    ledger: join(home, 'payouts.sqlite'),
    secret: `1:${randomBytes(32).toString('hex')}`,
    rewards: { collector: addressOf(newKey()), treasury: share, buyback: share, incentives: share },
  }
  const handle = handleFor(readRoutesConfig({ ...options, log: silent }, {}).service, silent)
  const { rewards, dispatches } = (await handle.get()).ledger
  const bare = await createBare(localnet, bareKey)
  const limits = { everySeconds: 1, dailyFees: 10 }
  const worker = startProcess('./payouts-worker.mjs', [
    JSON.stringify({ ...options, key, rewards: { ...options.rewards, ...limits } }),
  ])
  await worker.ready
  say(`payouts: ${payouts} wallets are opened`)
  const people = await createPeople(localnet, payouts)
  const theirs = []
  const measureBare = async () => {
    for (let turn = 0; turn < rounds; turn += 1) theirs.push(await bare.send(people.slice(0, bareTransfers)))
  }
  // On both sides of ours, since that takes a while.
  await measureBare()
  const begun = performance.now()
  await accrue(rewards, people)
  await untilPaid(rewards)
  const ours = (1_000 * payouts) / (performance.now() - begun)
  await measureBare()
  await worker.stop()
  const landed = await dispatches.list({ kind: 'payout', state: 'landed', most: 10 * mostTransactions })
  const sent = landed.length
  const fees = await bare.feesOf(landed.map(({ signed }) => signed.signature))
  const bareFee = (await bare.feesOf(bare.sent)) / bare.sent.length
  await handle.release()
  if (sent > mostTransactions)
    throw new Error(`${payouts} payouts took ${sent} transactions, more than ${mostTransactions}`)
  const fee = fees / payouts
  const ratios = theirs.map((rate) => ours / rate)
  const speed = row('payouts/per-second', 'payouts per second', [ours], theirs, ratios)
  const cost = row('payouts/fee', 'lamports per payout', [fee], [bareFee], [fee / bareFee])
  const count = row('payouts/transactions', `transactions for ${payouts} payouts`, [sent], [payouts], [sent / payouts])
  say(
    `payouts: ${payouts} in ${sent} transactions; ${speed.ratio} times as fast as kit's sendAndConfirm, ${cost.ratio} of its fees`,
  )
  return [speed, cost, count]
}

/** Wallets with an account for what they are paid. */
async function createPeople(localnet, count) {
  const people = Array.from({ length: count }, () => encodeBase58(randomBytes(32)))
  for (const one of people) await localnet.fund(one, { NATIVE: 0n })
  return people
}

async function accrue(rewards, people) {
  const { last } = await rewards.ripe(0)
  const at = Date.now()
  const rates = { table: { USDC: '1', NATIVE: '0.1' }, source: 'fixed', at, decimals: { USDC: 6, NATIVE: 9 } }
  const common = { at, paidAt: at, recipient: 'collector', payer: 'payer', endpoint: '/data', token: 'USDC', rates }
  const worth = { units: 200_000n, worth: 200_000_000_000n, whole: units, rate: 100_000_000_000n }
  const accruals = people.map((payee) => ({
    ...common,
    ...worth,
    ...{ tx: randomBytes(64), rules: 'bench', developer: payee, spent: 0n, why: '' },
    shares: [{ role: 'developer', payee, units }],
  }))
  if (!(await rewards.accrue(last, accruals))) throw new Error('somebody accrued in between')
}

async function untilPaid(rewards) {
  for (;;) {
    const left = (await rewards.sums()).reduce((sum, { owed, reserved }) => sum + owed + reserved, 0n)
    if (left === 0n) return
    await pause(20)
  }
}

/** Kit alone: build, sign, send and confirm a transfer to one. */
async function createBare(localnet, key) {
  const signer = await createKeyPairSignerFromBytes(Uint8Array.from(key))
  const rpc = createSolanaRpc(localnet.rpcUrl)
  const rpcSubscriptions = createSolanaRpcSubscriptions(localnet.wsUrl)
  const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })
  const { address: mintAddress, tokenProgram, decimals } = localnet.mints.NATIVE
  const mint = address(mintAddress)
  const accountOf = async (owner) =>
    (await findAssociatedTokenPda({ owner: address(owner), mint, tokenProgram: address(tokenProgram) }))[0]
  const source = await accountOf(signer.address)
  const sent = []
  const transfer = async (owner) => {
    const { value: lifetime } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send()
    const destination = await accountOf(owner)
    const instruction = getTransferCheckedInstruction({
      ...{ source, mint, destination, authority: signer, amount: units, decimals },
    })
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (draft) => setTransactionMessageFeePayerSigner(signer, draft),
      (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
      (draft) => appendTransactionMessageInstructions([instruction], draft),
    )
    const signed = await signTransactionMessageWithSigners(message)
    await sendAndConfirm(signed, { commitment: 'confirmed' })
    sent.push(getSignatureFromTransaction(signed))
  }
  return {
    sent,
    /** To each of them; answers how many in a second. */
    async send(owners) {
      const begun = performance.now()
      const rest = [...owners]
      const lines = Array.from({ length: atOnce }, async () => {
        for (let owner = rest.pop(); owner; owner = rest.pop()) await transfer(owner)
      })
      await Promise.all(lines)
      return (1_000 * owners.length) / (performance.now() - begun)
    },
    async feesOf(signatures) {
      let fees = 0
      for (const signature of signatures) {
        const config = { maxSupportedTransactionVersion: 0, commitment: 'confirmed', encoding: 'json' }
        const { meta } = await rpc.getTransaction(signature, config).send()
        fees += Number(meta.fee)
      }
      return fees
    },
  }
}

function newKey() {
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return [...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')]
}

function addressOf(key) {
  return encodeBase58(Uint8Array.from(key.slice(32)))
}
