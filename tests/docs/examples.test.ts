/** Every example runs as a newcomer would run it: as a program of its own, on the built package. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { initAgentWallet } from '../../src/client/agent-wallet.ts'
import { paystile } from '../cli/in-process.ts'
import { freePort } from '../harness/free-port.mjs'
import { itInFull } from '../harness/length.ts'
import { createLocalnetFixture } from '../harness/localnet-fixture.ts'
import { createMint, extensions, mintTo } from '../harness/mint.ts'
import { eventually, useTemporaryHome } from '../harness/shop.ts'

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

/** The example with another port: two test files at once must not meet on 3000. */
const onPort = (file: string, port: number) =>
  readFileSync(join(root, 'examples', file), 'utf8').replaceAll('3000', String(port))
/** Stands in front of a port, and breaks the first connection that brings so much. */
async function breakOnce(port: number, bytes: number): Promise<string> {
  let isDone = false
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    let seen = 0
    const part = () => void [client.destroy(), server.destroy()]
    client.on('error', part).on('close', part).pipe(server)
    server.on('error', part).on('end', () => client.end())
    server.on('data', (chunk) => {
      seen += chunk.length
      client.write(chunk)
      if (isDone || seen < bytes) return
      isDone = true
      part()
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => proxy.once('listening', resolve))
  onTestFinished(() => void proxy.close())
  return `http://127.0.0.1:${(proxy.address() as { port: number }).port}`
}
const node = (code: string) => ['--input-type=module', '--eval', code]

/** An example says that it listens before its chain runs. */
const fillWallet = () =>
  eventually(
    () => paystile('faucet'),
    ({ code }) => code === 0,
  )

describe('examples', () => {
  // express.mjs, fastify.mjs, hono.mjs, node.mjs and agent.mjs run in tests/cli/stop.test.ts.
  /** Starts an example, and waits for the line that says so. */
  const start = async (file: string, env: Readonly<Record<string, string>> = {}): Promise<number> => {
    const port = await freePort()
    server = spawn(process.execPath, node(onPort(file, port)), {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    })
    await new Promise((resolve) => server?.stdout?.once('data', resolve))
    return port
  }

  it('bundle.mjs sells a hundred requests, and bundle-agent.mjs uses some of them at once', async () => {
    const port = await start('bundle.mjs')
    await fillWallet()
    const { stdout } = await run(process.execPath, node(onPort('bundle-agent.mjs', port)), { cwd: root })
    const lines = stdout.trim().split('\n')
    const german = ['one', 'two', 'three', 'four', 'five'].map((word) => `${word}, auf Deutsch`)
    expect(lines.slice(0, 5)).toEqual(german)
    // The first request of the day is free; the others come out of one bundle.
    const again = await run(process.execPath, node(onPort('bundle-agent.mjs', port)), { cwd: root })
    expect(again.stdout).toMatch(/unit=request; remaining=(9[1-5]); until=/)
  })

  itInFull('pass.mjs sells an hour of everything below a path', async () => {
    const port = await start('pass.mjs')
    await fillWallet()
    const first = await paystile('pay', `http://127.0.0.1:${port}/weather/oslo`)
    expect(JSON.parse(first.stdout)).toEqual({ city: 'oslo', sky: 'clear' })
    expect(first.stderr).toContain('sent ')
    const second = await paystile('pay', `http://127.0.0.1:${port}/weather/rome`)
    expect(JSON.parse(second.stdout)).toEqual({ city: 'rome', sky: 'clear' })
    expect(second.stderr).not.toContain('sent ')
  })

  itInFull('file.mjs sells a file by the megabyte, and pay -o brings it, going on where it broke off', async () => {
    const file = join(home.path, 'large.bin')
    const content = randomBytes(3_000_000)
    writeFileSync(file, content)
    utimesSync(file, 1_700_000_000, 1_700_000_000)
    const port = await start('file.mjs', { FILE: file })
    await fillWallet()
    const url = `http://127.0.0.1:${port}/file`
    expect(await (await fetch(url)).json()).toMatchObject({
      amount: '0.03',
      allowance: { unit: 'file', amount: '3000000' },
    })
    const copy = join(home.path, 'copy.bin')
    const through = await breakOnce(port, 1_500_000)
    const broken = await paystile('pay', `${through}/file`, '-o', copy).catch((error: { stderr: string }) => error)
    expect(broken.stderr).toMatch(/0\.03 USDC.*sent .*Run the same command again to use the same payment/s)
    const { stderr } = await paystile('pay', `${through}/file`, '-o', copy)
    expect(readFileSync(copy).equals(content)).toBe(true)
    expect(stderr).toMatch(/^206 /m)
    expect(stderr).not.toContain('sent ')
  })

  itInFull('stream.mjs sells bytes ahead', async () => {
    const port = await start('stream.mjs')
    await fillWallet()
    const { stdout, stderr } = await paystile('pay', `http://127.0.0.1:${port}/lines`)
    expect(stdout.trim().split('\n')).toHaveLength(100)
    expect(stderr).toContain('0.005 USDC')
  })

  it('paystile.yaml sells the paths of upstream.mjs', async () => {
    const [port, upstreamPort] = [await freePort(), await freePort()]
    const env = { ...process.env, UPSTREAM_KEY: 'k-123' }
    const stdio = ['ignore', 'pipe', 'inherit'] as const
    const upstream = spawn(process.execPath, node(onPort('upstream.mjs', upstreamPort)), {
      cwd: root,
      stdio: [...stdio],
      env,
    })
    onTestFinished(() => void upstream.kill())
    await new Promise((resolve) => upstream.stdout?.once('data', resolve))
    const file = join(home.path, 'paystile.yaml')
    writeFileSync(file, onPort('paystile.yaml', upstreamPort).replace('8402', String(port)))
    server = spawn(process.execPath, ['dist/cli/main.js', 'serve', file], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
      env,
    })
    const line = await new Promise<string>((resolve) => server?.stdout?.once('data', (data) => resolve(String(data))))
    const { url, routes } = JSON.parse(line)
    expect([url, routes.length]).toEqual([`http://127.0.0.1:${port}`, 4])
    expect(await (await fetch(`${url}/status`)).text()).toBe('up')
    expect((await fetch(`${url}/api/nothing`)).status).toBe(404)
    await eventually(
      async () => (await fetch(`${url}/readyz`)).status,
      (status) => status === 200,
    )
    await fillWallet()
    const weather = await paystile('pay', `${url}/api/weather`)
    expect(JSON.parse(weather.stdout)).toMatchObject({ status: 'verified', data: { city: 'Oslo', sky: 'clear' } })
    expect((await paystile('pay', `${url}/files/a`)).stdout).toBe('GET /files/a, paid 0.05')
    const second = await paystile('pay', `${url}/files/b`)
    expect([second.stdout, second.stderr.includes('sent ')]).toEqual(['GET /files/b, paid 0.05', false])
  })

  itInFull('price.mjs charges by the cost of the request', async () => {
    const port = await start('price.mjs')
    await fillWallet()
    const ask = (...more: string[]) =>
      paystile(
        'pay',
        `http://127.0.0.1:${port}/summary`,
        '-d',
        'x'.repeat(150),
        '-H',
        'Content-Type: text/plain',
        ...more,
      )
    const { stdout, stderr } = await ask()
    expect([JSON.parse(stdout), stderr.includes('0.012 USDC')]).toEqual([{ read: 150 }, true])
    expect((await ask('-H', 'X-Model: large')).stderr).toContain('0.052 USDC')
  })

  itInFull('own-token.mjs is paid in the token, by the commands of its page', async () => {
    const port = await start('own-token.mjs')
    await fillWallet()
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${port}/report`)).text(),
      (challenge) => challenge.includes('EURC'),
    )
    const page = readFileSync(join(root, 'docs/tasks/accept-another-token.md'), 'utf8')
    const [, faucet = '', pay = ''] =
      /^npx paystile (faucet --token.*)\nnpx paystile (pay[\s\S]*?)\n```/m.exec(page) ?? []
    expect((await paystile(...faucet.split(' '))).code).toBe(0)
    const words = pay.replace('3000', String(port)).match(/"[^"]*"|[^\s"\\]+/g) ?? []
    const { stdout, stderr } = await paystile(...words.map((word) => word.replaceAll('"', '')))
    expect(JSON.parse(stdout)).toEqual({ sales: 42 })
    expect(stderr).toContain('0.008 EURC')
  })

  itInFull('splits.mjs pays both wallets, by the commands of its page', async () => {
    const port = await start('splits.mjs')
    await fillWallet()
    const page = readFileSync(join(root, 'docs/tasks/split-a-payment.md'), 'utf8')
    const [, author = ''] = /AUTHOR \?\? '(\w+)'/.exec(page) ?? []
    const commands = [...page.matchAll(/^npx paystile ((?:quote|pay) \S+)/gm)].map(([, command = '']) => command)
    expect(commands).toHaveLength(2)
    const [quote, pay] = commands.map((command) => command.replace('3000', String(port)).split(' '))
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${port}/report`)).text(),
      (challenge) => challenge.includes(author),
    )
    const quoted = JSON.parse((await paystile(...(quote ?? []))).stdout)
    expect(quoted.challenge.splits).toEqual([{ recipient: author, amounts: { USDC: '0.001' } }])
    const { stdout, stderr } = await paystile(...(pay ?? []))
    expect(JSON.parse(stdout)).toEqual({ sales: 42 })
    expect(stderr).toContain(`of which 0.001 USDC to ${author}`)
  })

  itInFull('token-2022.mjs asks for the transfer fee on top', async () => {
    const world = await createLocalnetFixture()
    onTestFinished(() => world.close())
    const issuer = await world.person()
    const mint = await createMint(world, issuer, { extensions: [extensions.transferFee(100, issuer.address)] })
    const wallet = join(home.path, 'payer.json')
    const { address } = await initAgentWallet({ path: wallet })
    await world.localnet.fund(address, { SOL: 1_000_000_000n })
    const recipient = world.recipient.address
    await mintTo(world, mint, issuer, { [address]: 50_000_000n, [recipient]: 0n })
    const port = await start('token-2022.mjs', {
      MINT: mint.address,
      RECIPIENT: recipient,
      PAYSTILE_RPC: world.localnet.rpcUrl,
      PAYSTILE_LEDGER: 'memory:',
    })
    const url = `http://127.0.0.1:${port}/report`
    await eventually(
      () => fetch(url),
      ({ status }) => status === 402,
    )
    const { stdout, stderr } = await paystile(
      'pay',
      url,
      ...['--wallet', wallet, '--rpc', world.localnet.rpcUrl, '--mint', `NATIVE=${mint.address}:6:token-2022`],
    )
    expect(JSON.parse(stdout)).toEqual({ sales: 42 })
    expect(stderr).toContain('5.050506 NATIVE')
  })

  it('next.mjs is a route handler', async () => {
    const code = `${readFileSync(join(root, 'examples/next.mjs'), 'utf8')}
      const response = await GET(new Request('http://127.0.0.1/report'))
      console.log(response.status, (await response.json()).amount)
      await paystile.close()`
    const { stdout } = await run(process.execPath, node(code), { cwd: root })
    expect(stdout.trim()).toBe('402 0.01')
  })
})
