/** Programs that sell, told to stop while a payer is being served: the demo, and every example. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../harness/free-port.mjs'
import { cells, itInFull } from '../harness/length.ts'
import { eventually, useTemporaryHome } from '../harness/shop.ts'
import { type Finished, finished, root } from './command.ts'
import { paystile } from './in-process.ts'

const home = useTemporaryHome()
afterAll(() => home.remove())

const hold = pathToFileURL(join(root, 'tests/harness/hold.mjs')).href

interface Program {
  readonly child: ChildProcess
  readonly end: Promise<Finished>
  /** The first line it wrote. */
  readonly line: string
}

async function run(args: readonly string[]): Promise<Program> {
  const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const
  const child = spawn(process.execPath, ['--import', hold, ...args], { cwd: root, stdio: [...stdio] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const end = finished(child)
  const [data] = await Promise.race([
    once(child.stdout as NonNullable<typeof child.stdout>, 'data'),
    end.then(({ stderr }) => {
      throw new Error(`it ended before it began: ${stderr}`)
    }),
  ])
  return { child, end, line: String(data) }
}

const runDemo = (...flags: readonly string[]) =>
  run(['dist/cli/main.js', 'demo', '--alone', '--json', '--port', '0', '--slot-ms', '50', ...flags])

const isListening = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  )

/** Buys, has the program told to stop in the middle of its answer, and lets the answer go on when it has stopped listening. */
async function stopWhileServing(
  { child, end }: Program,
  url: string,
  signals: readonly NodeJS.Signals[],
  buy: () => Promise<Finished>,
): Promise<Finished> {
  const held = once(child, 'message')
  const buying = buy()
  await held
  for (const signal of signals) child.kill(signal)
  await eventually(
    () => isListening(url),
    (isSo) => !isSo,
  )
  expect(child.exitCode).toBe(null)
  child.send('go on')
  const [bought, stopped] = await Promise.all([buying, end])
  expect([bought.code, stopped.code, child.signalCode]).toEqual([0, 0, null])
  return bought
}

describe('the demo', () => {
  const signs: readonly (readonly [name: string, signals: readonly NodeJS.Signals[]])[] = [
    // npm passes on what the terminal has sent to all. Two signals of one kind would be one if they come so close.
    ['a signal that comes twice', ['SIGINT', 'SIGTERM']],
    ['SIGTERM', ['SIGTERM']],
  ]
  it.each(cells(signs, 2))(
    'T122: serves whom it was serving at %s, notes it, and ends with 0',
    async (_name, signals) => {
      const first = await runDemo('--keep')
      const { url } = JSON.parse(first.line)
      const buy = () => paystile('pay', `${url}/api/moon`, '--json')
      const { stdout } = await stopWhileServing(first, `${url}/api/moon`, signals, buy)
      const { status, body, payment } = JSON.parse(stdout)
      expect([status, body]).toEqual([
        200,
        expect.objectContaining({ data: expect.objectContaining({ at: expect.any(String) }) }),
      ])
      const second = await runDemo('--keep')
      const verdict = JSON.parse((await paystile('verify', payment.tx, payment.requestId)).stdout)
      expect(verdict).toMatchObject({ code: 'payment_replay', checks: { exists: 'passed', unused: 'failed' } })
      second.child.kill('SIGTERM')
      expect((await second.end).code).toBe(0)
    },
  )

  itInFull('ends at once when it is told a second time', async () => {
    const { child, end, line } = await runDemo()
    const { url } = JSON.parse(line)
    const held = once(child, 'message')
    const buying = paystile('pay', `${url}/api/moon`, '--timeout', '1')
    await held
    child.kill('SIGTERM')
    await eventually(
      () => {
        if (child.exitCode === null) child.kill('SIGINT')
        return child.exitCode
      },
      (code) => code !== null,
    )
    expect((await end).code).toBe(130)
    expect((await buying).code).not.toBe(0)
  })
})

describe('a program with a drain that omits a paywall', () => {
  it('T122: names it, and ends', async () => {
    const code = `
      import { createServer } from 'node:http'
      import { create402Middleware, drain } from 'paystile/node'
      const options = { price: 0.01, token: 'USDC', recipient: 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC', network: 'localnet' }
      const reports = create402Middleware({ ...options, endpoint: 'GET /reports' })
      const pictures = create402Middleware({ ...options, endpoint: 'GET /pictures' })
      const server = createServer((request, response) => reports(request, response, () => response.end()))
      process.once('SIGTERM', () => drain(server, reports))
      await Promise.all([reports.ready(), pictures.ready()])
      server.listen(0, '127.0.0.1', () => console.log('up'))`
    const { child, end } = await run(['--input-type=module', '--eval', code])
    child.kill('SIGTERM')
    const { code: status, stderr } = await end
    expect([status, child.signalCode]).toEqual([0, null])
    const lines = stderr.split('\n').filter((line) => line.includes('drain.incomplete'))
    expect(lines.map((line) => JSON.parse(line).what)).toEqual(['the paywall of /pictures'])
  })
})

describe('examples', () => {
  it.each(cells(['express.mjs', 'fastify.mjs', 'hono.mjs', 'node.mjs'], 4))(
    'T122: %s sells to agent.mjs, serves it after a SIGTERM, and ends with 0',
    async (file) => {
      const port = await freePort()
      const example = (name: string) => {
        const code = readFileSync(join(root, 'examples', name), 'utf8').replaceAll('3000', String(port))
        return ['--input-type=module', '--eval', code]
      }
      const program = await run(example(file))
      const url = `http://127.0.0.1:${port}/report`
      expect((await fetch(url)).status).toBe(402)
      expect((await paystile('faucet')).code).toBe(0)
      const buy = () => finished(spawn(process.execPath, example('agent.mjs'), { cwd: root }))
      const { stdout } = await stopWhileServing(program, url, ['SIGTERM'], buy)
      expect(stdout.trim()).toBe('{ sales: 42 }')
    },
  )
})
