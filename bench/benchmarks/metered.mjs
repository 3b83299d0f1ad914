// A long response whose bytes are counted and paid for, beside the same stream without a paywall: throughput and memory.
import { connect } from 'node:net'
import { join } from 'node:path'
import { createClaimSecret, openBare, openShop } from '../shop.mjs'
import { round, row } from '../statistics.mjs'

/** @typedef {import('../shop.mjs').Server} Server */

const gibibyte = 2 ** 30
const memoryEveryMs = 200

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ rounds: number, bytes: number }} size
 */
export async function benchMetered(setting, { rounds, bytes }) {
  const { home, say } = setting
  const payer = await setting.payer()
  const provider = {
    ...(await setting.provider()),
    ledger: join(home, 'metered.sqlite'),
    price: 0.0001,
    per: /** @type {const} */ ('megabyte'),
  }
  const open = (/** @type {string} */ scope, options = {}) =>
    openShop(setting, { ...provider, scope, ...options }, { as: `metered ${scope}`, streamBytes: bytes })
  const { announced, secret } = createClaimSecret()
  const [ahead, file, bareServer] = await Promise.all([
    open('ahead'),
    open('file', { size: bytes }),
    openBare(setting, { streamBytes: bytes }),
  ])
  const kinds = [
    { name: 'ahead', server: ahead, accept: `${announced}; bytes=${bytes}` },
    { name: 'file', server: file, accept: announced },
    { name: 'bare', server: bareServer, accept: '' },
  ].map((kind) => ({ ...kind, grown: 0, rates: /** @type {number[]} */ ([]) }))
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const kind of kinds) {
      const proof = kind.accept && `${await payer.payOnce(kind.server.facts.url, kind.accept)}${secret}`
      const { seconds, grown } = await download(kind.server, proof, bytes)
      kind.rates.push(bytes / gibibyte / seconds)
      kind.grown = Math.max(kind.grown, grown)
    }
  }
  await Promise.all(kinds.map(({ server }) => server.stop()))
  const bare = { rates: kinds.at(-1)?.rates ?? [], grown: kinds.at(-1)?.grown ?? 0 }
  return kinds.slice(0, -1).map(({ name, rates, grown }) => {
    const result = row(`metered/${name}-to-bare`, 'GiB per second', rates, bare.rates)
    const memory = { grownMB: round(grown, 1), bareGrownMB: round(bare.grown, 1) }
    say(
      `metered/${name}: ${result.ratio} of the same stream unmetered, ${round(bytes / gibibyte)} GiB each; memory grew by ` +
        `at most ${memory.grownMB} MB, without a paywall by ${memory.bareGrownMB} MB`,
    )
    return { ...result, ...memory }
  })
}

/**
 * Reads the whole response. Returns its seconds, and the growth of the server's memory in MB.
 *
 * @param {Server} server
 * @param {string} proof
 * @param {number} bytes
 */
async function download(server, proof, bytes) {
  const { hostname, port, pathname } = new URL(server.facts.url)
  const before = (await server.memory()).rss
  let most = before
  const watch = setInterval(async () => {
    const { rss } = await server.memory().catch(() => ({ rss: 0 }))
    most = Math.max(most, rss)
  }, memoryEveryMs)
  const begun = performance.now()
  const received = await new Promise((resolve, reject) => {
    let sum = 0
    let head = ''
    const socket = connect(Number(port), hostname)
    socket.on('error', reject)
    socket.on('close', () => resolve(sum))
    socket.on('data', (chunk) => {
      if (head.length < 12) head += chunk.toString('latin1', 0, 12)
      sum += chunk.length
    })
    socket.on('end', () => head.startsWith('HTTP/1.1 200') || reject(new Error(`The stream was not served: ${head}`)))
    socket.write(
      `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nPayment-Proof: ${proof || 'none'}\r\nConnection: close\r\n\r\n`,
    )
  }).finally(() => clearInterval(watch))
  const seconds = (performance.now() - begun) / 1000
  if (received < bytes) throw new Error(`Only ${received} of ${bytes} bytes came.`)
  return { seconds, grown: (most - before) / 1e6 }
}
