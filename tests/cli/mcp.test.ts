/** `paystile mcp` as a process: the ends of its client. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { initAgentWallet } from '../../src/client/agent-wallet.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { finished, root } from './command.ts'

const home = useTemporaryHome()
afterAll(() => home.remove())

async function run() {
  const { path } = await initAgentWallet({ path: join(home.path, crypto.randomUUID(), 'wallet.json') })
  const args = ['dist/cli/main.js', 'mcp', '--budget', '1 USDC', '--wallet', path]
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, PAYSTILE_HOME: home.path } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const end = finished(child)
  await once(child.stderr, 'data')
  return { child, end }
}

const ping = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`

it('ends when its client closes stdin, and writes only messages to stdout', async () => {
  const { child, end } = await run()
  child.stdin.end(ping)
  expect(await end).toMatchObject({ code: 0, stdout: '{"jsonrpc":"2.0","id":1,"result":{}}\n' })
})

it('does not fail when its client no longer reads', async () => {
  const { child, end } = await run()
  child.stdout.destroy()
  await once(child.stdout, 'close')
  child.stdin.end(ping.repeat(3))
  const { code, stderr } = await end
  expect([code, stderr.match(/EPIPE/)]).toEqual([0, null])
})
