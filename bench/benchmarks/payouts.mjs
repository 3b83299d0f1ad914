// The worker pays many payees, many in one transaction, beside bare transfers by kit, one in each transaction and as many at
// the same time as the worker has requests under way. Ours counts from the moment at which the payees become due until all
// payouts are final and recorded; theirs until they are confirmed.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readRoutesConfig } from '../../dist/api/options.js'
import { openHandle } from '../../dist/compose/paywall.js'
import { createAddress, createKey, readAddress } from '../keys.mjs'
import { createKitSender } from '../kit.mjs'
import { createSecret } from '../setting.mjs'
import { row } from '../statistics.mjs'

/**
 * @typedef {import('../../dist/core/payouts/ports/rewards.js').Rewards} Rewards
 * @typedef {import('../../dist/core/payouts/ports/rewards.js').Accrual} Accrual
 */

/** Payouts that fit into one transaction, with some to spare. */
const leastPerTransaction = 16
const atOnce = 16
const longestWaitMs = 300_000
const units = 2_000_000_000n
const silent = { info: () => {}, warn: () => {}, error: () => {} }

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ payees: number, rounds: number, transfers: number }} size
 */
export async function benchPayouts(setting, { payees: count, rounds, transfers }) {
  const { processes, home, say } = setting
  const localnet = await setting.localnet()
  const [key, bareKey] = [createKey(), createKey()]
  for (const one of [key, bareKey]) await localnet.fund(readAddress(one), { SOL: 10n ** 12n, NATIVE: 10n ** 16n })
  const share = { wallet: createAddress(), weight: 1 }
  const rewardOptions = { collector: createAddress(), treasury: share, buyback: share, incentives: share }
  const options = {
    network: /** @type {const} */ ('localnet'),
    rpc: localnet.rpcUrl,
    ledger: join(home, 'payouts.sqlite'),
    secret: createSecret(),
  }
  const config = readRoutesConfig({ ...options, log: silent, rewards: rewardOptions }, {})
  const handle = openHandle(config.service, silent)
  const { rewards, outgoing } = (await handle.get()).ledger
  if (!rewards || !outgoing) throw new Error('The ledger keeps no rewards.')
  const kit = await createKitSender(localnet, 'NATIVE', bareKey)
  const limits = { everySeconds: 1, dailyFees: 10 }
  const worker = await processes.start('payout-worker', { ...options, rewards: { ...rewardOptions, ...limits, key } })
  const payees = Array.from({ length: count }, createAddress)
  await localnet.openAccounts(payees, 'NATIVE')
  /** @type {number[]} */
  const theirs = []
  /** @type {string[]} */
  const bareSent = []
  const measureBare = async () => {
    for (let turn = 0; turn < rounds; turn += 1) {
      const begun = performance.now()
      bareSent.push(...(await sendAll(kit, payees.slice(0, transfers))))
      theirs.push((1_000 * transfers) / (performance.now() - begun))
    }
  }
  // On both sides of ours, which takes a while.
  await measureBare()
  const begun = performance.now()
  await accrue(rewards, payees)
  await waitUntilPaid(rewards)
  const ours = (1_000 * count) / (performance.now() - begun)
  await measureBare()
  await worker.stop()
  const landed = await outgoing.list({ kind: 'payout', state: 'landed', most: count })
  const sent = landed.length
  const fee = (await kit.sumFees(landed.map(({ signed }) => signed?.signature ?? ''))) / count
  const bareFee = (await kit.sumFees(bareSent)) / bareSent.length
  await handle.release()
  const most = Math.ceil(count / leastPerTransaction)
  if (sent > most) throw new Error(`${count} payouts took ${sent} transactions, more than ${most}.`)
  const speed = row(
    'payouts/per-second',
    'payouts per second',
    [ours],
    theirs,
    theirs.map((rate) => ours / rate),
  )
  const cost = row('payouts/fee', 'lamports per payout', [fee], [bareFee])
  const number = row('payouts/transactions', `transactions for ${count} payouts`, [sent], [count])
  say(
    `payouts: ${count} in ${sent} transactions; ${speed.ratio} times as fast as kit's sendAndConfirm, ${cost.ratio} of its fees`,
  )
  return [speed, cost, number]
}

/**
 * @param {Awaited<ReturnType<typeof createKitSender>>} kit
 * @param {readonly string[]} owners
 */
async function sendAll(kit, owners) {
  const rest = [...owners]
  /** @type {string[]} */
  const signatures = []
  const lines = Array.from({ length: atOnce }, async () => {
    for (let owner = rest.pop(); owner; owner = rest.pop()) signatures.push(await kit.send(owner, units))
  })
  await Promise.all(lines)
  return signatures
}

/**
 * @param {Rewards} rewards
 * @param {readonly string[]} payees
 */
async function accrue(rewards, payees) {
  const { last } = await rewards.accruable(0)
  const at = Date.now()
  const accruals = payees.map(
    /** @returns {Accrual} */ (payee) => ({
      tx: randomBytes(64),
      at,
      paidAt: at,
      recipient: 'collector',
      payer: 'payer',
      endpoint: '/data',
      token: 'USDC',
      units: 200_000n,
      worth: 200_000_000_000n,
      whole: units,
      rate: 100_000_000_000n,
      rates: { table: { USDC: '1', NATIVE: '0.1' }, source: 'fixed', at, decimals: { USDC: 6, NATIVE: 9 } },
      rules: 'bench',
      developer: payee,
      spent: 0n,
      why: '',
      shares: [{ role: 'developer', payee, units }],
    }),
  )
  if (!(await rewards.accrue(last, accruals))) throw new Error('Another process accrued in between.')
}

/** @param {Rewards} rewards */
async function waitUntilPaid(rewards) {
  const begun = performance.now()
  while (performance.now() - begun < longestWaitMs) {
    const left = (await rewards.sums()).reduce((sum, { owed, reserved }) => sum + owed + reserved, 0n)
    if (left === 0n) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`Not all payees were paid within ${longestWaitMs / 1000} s.`)
}
