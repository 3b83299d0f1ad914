// A long response whose bytes are counted and paid for, beside the same stream without a paywall: throughput, and the
// memory that it takes.
import { createHash, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createPayer, openShop } from './known.mjs'
import { startServer } from './processes.mjs'
import { round, row } from './statistics.mjs'

const gibibyte = 2 ** 30
const rounds = 3
const bytes = 8 * gibibyte
const secret = randomBytes(24).toString('base64url')
const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
const price = 0.0001

export async function benchMetered({ localnet, provider, home, say }) {
  const payer = await createPayer(localnet, provider.recipient)
  const keys = `1:${randomBytes(32).toString('hex')}`
  const open = (name, options) =>
    openShop(
      {
        ...provider,
        ledger: join(home, 'metered.sqlite'),
        secret: keys,
        price,
        per: 'megabyte',
        scope: name,
        ...options,
      },
      { streamBytes: bytes },
    )
  const bare = startServer('node', 'bare', { streamBytes: bytes })
  const kinds = {
    ahead: { shop: await open('ahead', {}), accept: `${accept}; bytes=${bytes}` },
    file: { shop: await open('file', { size: bytes }), accept },
    bare: { shop: { server: bare, url: await bare.ready } },
  }
  const rates = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]))
  const growth = Object.fromEntries(Object.keys(kinds).map((name) => [name, 0]))
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const [name, { shop, accept: announced }] of Object.entries(kinds)) {
      const proof = announced ? await payer.payOnce(shop.url, announced, `; claim=${secret}`) : 'none'
      const { rate, grown } = await drink(shop, proof)
      rates[name].push(rate)
      growth[name] = Math.max(growth[name], grown)
    }
  }
  for (const { shop } of Object.values(kinds)) await shop.server.stop()
  return ['ahead', 'file'].map((name) => {
    const ratios = rates[name].map((rate, index) => rate / rates.bare[index])
    const result = row(`metered/${name}-to-bare`, 'GiB per second', rates[name], rates.bare, ratios)
    const memory = { grownMB: round(growth[name], 1), bareGrownMB: round(growth.bare, 1) }
    say(
      `metered/${name}: ${result.ratio} of the same stream unmetered, 8 GiB each; memory grew by at most ` +
        `${memory.grownMB} MB, without a paywall by ${memory.bareGrownMB} MB`,
    )
    return { ...result, ...memory }
  })
}

/** Takes the whole response, and counts. */
async function drink({ server, url }, proof) {
  const { hostname, port, pathname } = new URL(url)
  const before = (await server.usage('memory')).rss
  let most = before
  const watch = setInterval(async () => {
    most = Math.max(most, (await server.usage('memory')).rss)
  }, 200)
  const begun = performance.now()
  const received = await new Promise((resolve, reject) => {
    let sum = 0
    let head = ''
    const socket = connect(Number(port), hostname)
    socket.on('error', reject)
    socket.on('close', () => resolve(sum))
    socket.on('data', (chunk) => {
      if (head.length < 12) head += chunk.latin1Slice(0, 12)
      sum += chunk.length
    })
    socket.on('end', () => (head.startsWith('HTTP/1.1 200') ? undefined : reject(new Error(`not served: ${head}`))))
    socket.write(
      `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nPayment-Proof: ${proof}\r\nConnection: close\r\n\r\n`,
    )
  })
  const seconds = (performance.now() - begun) / 1000
  clearInterval(watch)
  if (received < bytes) throw new Error(`only ${received} of ${bytes} bytes came`)
  return { rate: bytes / gibibyte / seconds, grown: (most - before) / 1e6 }
}
