// A gateway of `paystile serve`, in one process or in several.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {object} GatewayProcessesOptions
 * @property {number} count The number of processes.
 * @property {string} upstream
 * @property {Partial<import('../../dist/index.js').ProviderOptions>} provider
 */

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const routes = [
  { path: '/unpaid', price: 0.01 },
  { path: '/window', price: 0.01, per: { seconds: 36_000 } },
  { path: '/bundle', price: 0.01, per: { requests: 1_000_000 } },
]

/** @param {GatewayProcessesOptions} options */
export async function open({ count, upstream, provider: { secret, ...provider } }) {
  const directory = mkdtempSync(join(tmpdir(), 'paystile-bench-'))
  const file = join(directory, 'paystile.json')
  const listen = { port: 0 }
  writeFileSync(file, JSON.stringify({ ...provider, token: 'USDC', upstream, listen, metrics: 'open', routes }))
  const env = { ...process.env, PAYSTILE_SECRET: String(secret), PAYSTILE_LOG: 'error' }
  const args = [command, 'serve', file, '--json', '--processes', String(count)]
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  /** @type {string} */
  const line = await new Promise((resolve, reject) => {
    child.stdout?.once('data', (data) => resolve(String(data)))
    child.once('exit', () => reject(new Error('The gateway did not start.')))
  })
  /** @type {{ url: string }} */
  const facts = { url: JSON.parse(line).url }
  return {
    facts,
    answers: { usedSeconds: () => listTree(child.pid ?? 0).reduce((sum, pid) => sum + readSeconds(pid), 0) },
    close: async () => {
      child.kill('SIGTERM')
      await ended
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/**
 * A process and its children.
 *
 * @param {number} pid
 * @returns {number[]}
 */
function listTree(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  return [pid, ...children]
}

/**
 * CPU time of all threads of a process.
 *
 * @param {number} pid
 */
function readSeconds(pid) {
  const threads = readdirSync(`/proc/${pid}/task`)
  const read = (/** @type {string} */ id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0])
  return threads.reduce((sum, id) => sum + read(id), 0) / 1e9
}
