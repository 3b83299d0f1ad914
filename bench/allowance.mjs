// Using what was bought before: a bundle shown by a claim or by a signature, and a window, beside the bare framework. No
// node is asked for any of it (`tests/attacks/allowances.test.ts`).
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { claimAll, createPayer, openShop } from './known.mjs'
import { startServer } from './processes.mjs'
import { row } from './statistics.mjs'

const rounds = 7
const perRound = 2_000
const warmUp = 3_000
const secret = randomBytes(24).toString('base64url')
const claim = { accept: `claim=${createHash('sha256').update(secret).digest('base64url')}`, more: `; claim=${secret}` }
const bundle = { requests: 1_000_000 }

export async function benchAllowance({ localnet, provider, home, say }) {
  const payer = await createPayer(localnet, provider.recipient)
  const keys = `1:${randomBytes(32).toString('hex')}`
  const open = (scope, options) =>
    openShop({ ...provider, ledger: join(home, 'allowance.sqlite'), secret: keys, service: 'bench', scope, ...options })
  const bare = startServer('node', 'bare', { bare: { status: 200, body: '{"answer":42}', headers: {} } })
  const kinds = {
    'bundle-claim': { shop: await open('bundle', { per: bundle }), ...claim },
    'bundle-sig': { shop: await open('sig', { per: bundle }), accept: 'sig' },
    'window-claim': { shop: await open('window', { per: { seconds: 36_000 } }), ...claim },
    bare: { shop: { server: bare, url: await bare.ready } },
  }
  const proofs = {}
  for (const [name, { shop, accept, more }] of Object.entries(kinds)) {
    if (accept) proofs[name] = await payer.payOnce(shop.url, accept, more)
  }
  proofs['bundle-sig'] = await sign(proofs['bundle-sig'], kinds['bundle-sig'].shop.url, payer.wallet, localnet)
  const rates = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]))
  for (let turn = -1; turn < rounds; turn += 1) {
    for (const [name, { shop }] of Object.entries(kinds)) {
      const rate = await claimAll([shop], Array(turn < 0 ? warmUp : perRound).fill(proofs[name] ?? 'none'))
      if (turn >= 0) rates[name].push(rate)
    }
  }
  for (const { shop } of Object.values(kinds)) await shop.server.stop()
  return Object.keys(proofs).map((name) => {
    const ratios = rates[name].map((rate, index) => rate / rates.bare[index])
    const result = row(`allowance/${name}-to-bare`, 'requests per second', rates[name], rates.bare, ratios)
    say(`allowance/${name}: ${result.ratio} of the bare framework`)
    return result
  })
}

/** The same signature serves for five minutes. */
async function sign(proof, url, wallet, { genesisHash }) {
  const [, tx, requestId, payer] = /tx=(.*?); requestId=(.*?); payer=(.*)$/.exec(proof)
  const ts = Math.floor(Date.now() / 1000)
  const { proofText, formatProof } = await import('../dist/core/proof.js')
  const text = proofText({ origin: new URL(url).origin, genesis: genesisHash, tx, requestId, payer, ts })
  return formatProof({ tx, requestId, payer, ts, sig: await wallet.signMessage(text) })
}
