// The use of an allowance: a bundle presented by a claim or by a signature, and a window, beside the bare framework. No
// node is asked for any of it (`tests/attacks/allowances.test.ts`).
import { join } from 'node:path'
import { formatProof, parseProof, proofText } from '../../dist/core/protocol/proof.js'
import { measureCpu } from '../rounds.mjs'
import { claimAll, createClaimSecret, openBare, openShop, readPaidHeaders } from '../shop.mjs'
import { row } from '../statistics.mjs'

/** @typedef {NonNullable<import('../../dist/index.js').ProviderOptions['per']>} Per */

/** @type {Per} */
const bundle = { requests: 1_000_000 }

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {import('../sizes.mjs').Rounds} size
 */
export async function benchAllowance(setting, size) {
  const { home, say } = setting
  const localnet = await setting.localnet()
  const payer = await setting.payer()
  const provider = { ...(await setting.provider()), ledger: join(home, 'allowance.sqlite') }
  const open = (/** @type {string} */ scope, /** @type {Per} */ per) =>
    openShop(setting, { ...provider, scope, per }, { as: `allowance ${scope}` })
  const payByClaim = async (/** @type {string} */ url) => {
    const { announced, secret } = createClaimSecret()
    return `${await payer.payOnce(url, announced)}${secret}`
  }
  const payBySignature = async (/** @type {string} */ url) =>
    sign(await payer.payOnce(url, 'sig'), url, payer.wallet, localnet.genesisHash)
  const [byClaim, bySignature, window] = await Promise.all([
    open('bundle', bundle),
    open('sig', bundle),
    open('window', { seconds: 36_000 }),
  ])
  // The bare framework sends the same bytes.
  const { url } = byClaim.facts
  const bare = await openBare(setting, { headers: await readPaidHeaders(url, await payByClaim(url)) })
  const kinds = [
    { name: 'bundle-claim', server: byClaim, pay: payByClaim },
    { name: 'bundle-sig', server: bySignature, pay: payBySignature },
    { name: 'window-claim', server: window, pay: payByClaim },
    { name: 'bare', server: bare, pay: async () => 'none' },
  ]
  const sides = []
  for (const { server, pay } of kinds) {
    const proof = await pay(server.facts.url)
    await claimAll([server], [proof])
    sides.push({ facts: server.facts, cpuSeconds: server.cpuSeconds, headers: { 'Payment-Proof': proof } })
  }
  const rates = (await measureCpu(sides, size, { status: 200 })).map((times) => times.map((time) => 1e6 / time))
  await Promise.all(kinds.map(({ server }) => server.stop()))
  const baselines = rates.at(-1) ?? []
  return kinds.slice(0, -1).map(({ name }, index) => {
    const result = row(`allowance/${name}-to-bare`, 'requests per CPU second', rates[index] ?? [], baselines)
    say(`allowance/${name}: ${result.ratio} of the bare framework`)
    return result
  })
}

/**
 * Signs a proof. The same signature serves for five minutes.
 *
 * @param {string} header
 * @param {string} url
 * @param {import('../../dist/index.js').Wallet} wallet
 * @param {string} genesis
 */
async function sign(header, url, wallet, genesis) {
  const reading = parseProof(header)
  if (reading.kind === 'malformed') throw new Error(`The proof is malformed: ${reading.why}`)
  const { tx, requestId, payer } = reading.proof
  const ts = Math.floor(Date.now() / 1000)
  const text = proofText({ origin: new URL(url).origin, genesis, tx, requestId, payer, ts })
  const sig = await wallet.signMessage?.(text)
  if (!sig) throw new Error('The wallet signs no messages.')
  return formatProof({ tx, requestId, payer, ts, sig })
}
