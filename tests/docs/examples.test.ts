/** Every example runs as a newcomer would run it: as a program of its own, on the built package. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { useTemporaryHome } from '../harness/shop.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const home = useTemporaryHome()
let server: ChildProcess | undefined

afterEach(async () => {
  const running = server
  server = undefined
  if (!running) return
  running.kill()
  await new Promise((resolve) => running.once('exit', resolve))
})
afterAll(() => home.remove())

const freePort = () =>
  new Promise<number>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })

/** The example with another port: two test files at once must not meet on 3000. */
const onPort = (file: string, port: number) =>
  readFileSync(join(root, 'examples', file), 'utf8').replaceAll('3000', String(port))
const node = (code: string) => ['--input-type=module', '--eval', code]

describe('examples', () => {
  it.each(['express.mjs', 'fastify.mjs', 'hono.mjs', 'node.mjs'])('%s sells, and agent.mjs buys', async (file) => {
    const port = await freePort()
    server = spawn(process.execPath, node(onPort(file, port)), { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise((resolve) => server?.stdout?.once('data', resolve))
    const unpaid = await fetch(`http://127.0.0.1:${port}/report`)
    expect(unpaid.status).toBe(402)
    await run(process.execPath, ['dist/cli/main.js', 'faucet'], { cwd: root })
    const { stdout } = await run(process.execPath, node(onPort('agent.mjs', port)), { cwd: root })
    expect(stdout.trim()).toBe('{ sales: 42 }')
  })

  it('next.mjs is a route handler', async () => {
    const code = `${readFileSync(join(root, 'examples/next.mjs'), 'utf8')}
      const response = await GET(new Request('http://127.0.0.1/report'))
      console.log(response.status, (await response.json()).amount)
      await paid.close()`
    const { stdout } = await run(process.execPath, node(code), { cwd: root })
    expect(stdout.trim()).toBe('402 0.01')
  })
})
