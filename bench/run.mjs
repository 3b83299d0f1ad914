// `npm run bench`: everything that is measured, each beside its baseline, in one run. Names given as arguments choose some.
import { fork } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { encodeBase58 } from '../dist/core/base58.js'
import { pinSelf } from './processes.mjs'

const home = mkdtempSync(join(tmpdir(), 'paystile-bench-'))
process.env.PAYSTILE_HOME = home
const isLarge = process.argv.includes('--large')
const wanted = process.argv.slice(2).filter((name) => name !== '--large')
const say = (line) => process.stderr.write(`${line}\n`)
const isWanted = (name) => wanted.length === 0 || wanted.some((part) => name.startsWith(part))

const localnet = await startLocalnet(50)
const recipient = encodeBase58(
  generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
)
await localnet.fund(recipient, { SOL: 10_000_000n, USDC: 0n })
const provider = { network: 'localnet', recipient, rpc: localnet.rpcUrl }
/** As in production, only that no node can be reached: an unpaid request needs none. */
const offline = {
  network: 'devnet',
  recipient,
  rpc: 'http://127.0.0.1:1',
  ledger: join(home, 'ledger.sqlite'),
  secret: `1:${randomBytes(32).toString('hex')}`,
}

const results = []
try {
  if (isWanted('paid')) {
    const { benchPaid } = await import('./paid.mjs')
    results.push(...(await benchPaid({ localnet, provider, rounds: 40, say })))
  }
  if (isWanted('known')) {
    const { benchKnown } = await import('./known.mjs')
    results.push(...(await benchKnown({ localnet, provider, home, say })))
  }
  if (isWanted('allowance')) {
    const { benchAllowance } = await import('./allowance.mjs')
    results.push(...(await benchAllowance({ localnet, provider, home, say })))
  }
  pinSelf()
  if (isWanted('metered')) {
    const { benchMetered } = await import('./metered.mjs')
    results.push(...(await benchMetered({ localnet, provider, home, say })))
  }
  if (isWanted('gateway')) {
    const { benchGateway } = await import('./gateway.mjs')
    results.push(...(await benchGateway({ localnet, provider, home, say })))
  }
  if (isWanted('unpaid')) {
    const { benchUnpaid } = await import('./unpaid.mjs')
    results.push(...(await benchUnpaid({ provider: offline, say })))
  }
  if (isWanted('memory')) {
    const { benchMemory } = await import('./memory.mjs')
    results.push(...(await benchMemory({ provider: offline, say })))
  }
  if (isWanted('stream')) {
    const { benchStream } = await import('./stream.mjs')
    results.push(...(await benchStream({ say })))
  }
  if (isWanted('payouts')) {
    const { benchPayouts } = await import('./payouts.mjs')
    results.push(...(await benchPayouts({ localnet, home, say })))
  }
  if (isLarge && isWanted('analytics/export')) {
    const { benchExport } = await import('./export.mjs')
    results.push(...(await benchExport({ home, say })))
  }
  // It writes some gigabytes, so it is only run where that is wanted.
  if (isLarge && isWanted('analytics')) {
    const { benchAnalytics } = await import('./analytics.mjs')
    results.push(...(await benchAnalytics({ say })))
  }
} finally {
  localnet.stop()
  rmSync(home, { recursive: true, force: true })
}
const file = fileURLToPath(new URL('../bench-results.json', import.meta.url))
writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
console.table(
  results.map(({ name, unit, value, baseline, ratio, spread }) => ({ name, unit, value, baseline, ratio, spread })),
)
say(`written to bench-results.json; node ${process.version}, ${process.platform} ${process.arch}`)
process.exit(0)

async function startLocalnet(slotMs) {
  const child = fork(fileURLToPath(new URL('./localnet.mjs', import.meta.url)), [String(slotMs)], {
    stdio: ['ignore', 2, 2, 'ipc'],
  })
  const [facts] = await once(child, 'message')
  return {
    ...facts,
    fund: async (address, amounts) => {
      child.send({
        address,
        amounts: Object.fromEntries(Object.entries(amounts).map(([token, units]) => [token, String(units)])),
      })
      await once(child, 'message')
    },
    stop: () => child.disconnect(),
  }
}
