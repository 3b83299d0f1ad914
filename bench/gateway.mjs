// The gateway on a route that is paid for already (an open window, shown by its claim), beside a bare streaming proxy on
// the same client and before the same upstream.
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createPayer } from './known.mjs'
import { createLoad } from './load.mjs'
import { startProcess } from './processes.mjs'
import { row } from './statistics.mjs'

const rounds = 30
const requestsPerRound = 1_000
const warmUp = 8_000
/** Compilers have their luck: each pair of processes is started anew this often. */
const starts = 6

/** Requests per second of the proxy's CPU time. */
export async function benchGateway({ localnet, provider, home, say }) {
  const payer = await createPayer(localnet, provider.recipient)
  const upstream = startProcess('./proxy.mjs', ['upstream'])
  const origin = new URL(await upstream.ready).origin
  const [rates, baselines] = [[], []]
  for (let start = 0; start < starts; start += 1) {
    const ledger = join(home, `gateway-${start}.sqlite`)
    await measure({ payer, origin, provider: { ...provider, ledger }, rates, baselines })
  }
  await upstream.stop()
  const ratios = rates.map((rate, index) => rate / baselines[index])
  const result = row('gateway/paid', 'requests per CPU second', rates, baselines, ratios)
  say(`gateway/paid: ${result.ratio} of a bare streaming proxy`)
  return [result]
}

async function measure({ payer, origin, provider, rates, baselines }) {
  const secret = randomBytes(24).toString('base64url')
  const ours = startProcess('./proxy.mjs', ['gateway', JSON.stringify({ provider, upstream: origin })])
  const url = await ours.ready
  const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
  const proof = await payer.payOnce(url, accept, `; claim=${secret}`)
  await untilServed(url, proof)
  const bare = startProcess('./proxy.mjs', ['bare', JSON.stringify({ upstream: origin })])
  // Both carry the same header, of which only one makes something.
  const order = { status: 200, headers: { 'Payment-Proof': proof } }
  const sides = [
    { server: ours, load: createLoad(url, order), into: rates },
    { server: bare, load: createLoad(await bare.ready, order), into: baselines },
  ]
  for (const { load } of sides) await load.run(warmUp)
  for (let round = 0; round < rounds; round += 1) {
    for (const { server, load, into } of round % 2 === 0 ? sides : sides.toReversed()) {
      const before = await server.usage('cpu')
      await load.run(requestsPerRound)
      const after = await server.usage('cpu')
      into.push(requestsPerRound / ((after.user + after.system - before.user - before.system) / 1e6))
    }
  }
  for (const { server, load } of sides) {
    load.close()
    await server.stop()
  }
}

async function untilServed(url, proof) {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const response = await fetch(url, { headers: { 'Payment-Proof': proof } })
    await response.text()
    if (response.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the payment opened nothing')
}
