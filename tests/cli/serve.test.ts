/** `paystile serve` as an operator meets it. The gateway itself runs as a process of its own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'
import { eventually, useTemporaryHome } from '../harness/shop.ts'
import { errorOf, finished, start } from './command.ts'
import { paystile } from './in-process.ts'

const home = useTemporaryHome()
const directory = mkdtempSync(join(tmpdir(), 'paystile-serve-'))
const upstream = createServer((_request, response) => response.end('the secret'))
let world: LocalnetFixture
let text: string

beforeAll(async () => {
  world = await createLocalnetFixture()
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const { port } = upstream.address() as AddressInfo
  text = [
    'network: localnet',
    `rpc: ${world.localnet.rpcUrl}`,
    'ledger: "memory:"',
    `recipient: ${world.recipient.address}`,
    'token: USDC',
    'listen: { port: 0 }',
    `upstream: http://user:hidden@127.0.0.1:${port}/`,
    'routes:',
    '  - { path: /report, price: 0.01 }',
    '  - { path: /window, price: "0.1", per: { seconds: 60 }, methods: [GET, POST] }',
    '  - { path: /open, free: true }',
    '',
  ].join('\n')
})
afterAll(async () => {
  upstream.close()
  await world.close()
  home.remove()
  rmSync(directory, { recursive: true, force: true })
})

const write = (name: string, content = text): string => {
  const path = join(directory, name)
  writeFileSync(path, content)
  return path
}

describe('paystile serve', () => {
  it('serves a file, prints one line about it, and exits with 0 at SIGTERM', async () => {
    const child = start(['dist/cli/main.js', 'serve', write('paystile.yaml')])
    const end = finished(child)
    const line = await new Promise<string>((resolve) => child.stdout?.once('data', (data) => resolve(String(data))))
    const { url, routes } = JSON.parse(line)
    expect(routes).toMatchObject([
      { methods: ['GET'], path: '/report', price: '0.01 USDC' },
      { methods: ['GET', 'POST'], path: '/window', price: '0.1 USDC / 60 s' },
      { methods: ['GET'], path: '/open', price: 'free' },
    ])
    expect(line).not.toContain('hidden')
    expect(await (await fetch(`${url}/open`)).text()).toBe('the secret')
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' })
    child.kill('SIGTERM')
    expect(await end).toMatchObject({ code: 0, stderr: expect.stringContaining('Stopping') })
  })

  it.each([
    ['SIGHUP', []],
    ['--watch', ['--watch']],
  ] as const)(
    'takes over a changed file and .env by %s, and goes on with the former where they are wrong',
    async (how, more) => {
      const own = mkdtempSync(join(directory, 'reload-'))
      const put = (content: string, env: string) => {
        writeFileSync(join(own, '.env'), env, { mode: 0o600 })
        writeFileSync(join(own, 'paystile.yaml'), content)
        if (how === 'SIGHUP') child.kill('SIGHUP')
      }
      writeFileSync(join(own, '.env'), 'PRICE=0.01\n', { mode: 0o600 })
      const file = join(own, 'paystile.yaml')
      writeFileSync(file, text.replace('price: 0.01', `price: "\${PRICE}"`))
      const child = start(['dist/cli/main.js', 'serve', file, ...more])
      let notes = ''
      child.stderr?.on('data', (data) => {
        notes += String(data)
      })
      const end = finished(child)
      const line = await new Promise<string>((resolve) => child.stdout?.once('data', (data) => resolve(String(data))))
      const { url } = JSON.parse(line)
      const price = async () => ((await (await fetch(`${url}/report`)).json()) as { amount?: string }).amount
      await eventually(price, (found) => found === '0.01', 2_000)
      put(text.replace('price: 0.01', `price: "\${PRICE}"`), 'PRICE=0.02\n')
      await eventually(price, (found) => found === '0.02', 2_000)
      put(text.replace('price: 0.01', 'pirce: 0.03'), 'PRICE=0.03\n')
      await eventually(
        () => notes,
        (words) =>
          /Not reloaded\. The previous configuration stays active\.\S* paystile\.yaml:[\s\S]*did you mean price/.test(
            words,
          ),
        2_000,
      )
      expect(await price()).toBe('0.02')
      put(text.replace('price: 0.01', 'price: 0.04'), '')
      await eventually(price, (found) => found === '0.04', 2_000)
      await eventually(
        () => notes,
        (words) => words.includes('Reloaded paystile.yaml: 3 routes.'),
        2_000,
      )
      rmSync(join(own, '.env'))
      mkdirSync(join(own, '.env'))
      if (how === 'SIGHUP') child.kill('SIGHUP')
      await eventually(
        () => notes,
        (words) => /Not reloaded.* \.env cannot be read/.test(words),
        2_000,
      )
      child.kill('SIGTERM')
      expect((await end).code).toBe(0)
    },
  )

  it('--port and --host come before the file, and a port in use is told in a sentence', async () => {
    const { port } = upstream.address() as AddressInfo
    const taken = await paystile('serve', write('paystile.yaml'), '--port', String(port))
    expect([taken.code, errorOf(taken)]).toEqual([
      2,
      { code: 'port_in_use', message: `Port ${port} is in use. Choose another with --port.` },
    ])
    const nowhere = await paystile('serve', write('paystile.yaml'), '--host', '203.0.113.7')
    expect([nowhere.code, errorOf(nowhere).code]).toEqual([2, 'host_unknown'])
  })

  it('--check prints the routes or all problems, and serves nothing', async () => {
    const good = await paystile('serve', write('paystile.yaml'), '--check')
    expect([good.code, JSON.parse(good.stdout).ok, good.stderr]).toEqual([0, true, ''])
    const bad = await paystile(
      'serve',
      write('bad.yaml', text.replace('price: 0.01', 'pirce: 0.01').replace('USDC', 'usdt')),
      '--check',
    )
    expect([bad.code, bad.stdout]).toEqual([2, ''])
    expect(errorOf(bad)).toEqual({
      code: 'configuration',
      message: [
        'paystile cannot start:',
        '  - bad.yaml:5:8: token: must be one of NATIVE, USDC, SOL, or a code of tokens',
        '  - bad.yaml:9:22: routes[0].pirce: is not an option; did you mean price?',
      ].join('\n'),
    })
  })

  it('--check shows the free requests of a route', async () => {
    const some = text.replace('price: 0.01', 'price: 0.01, free: { requests: 3, per: day }')
    const { stdout } = await paystile('serve', write('free.yaml', some), '--check')
    const { routes } = JSON.parse(stdout) as { readonly routes: readonly { readonly free?: string }[] }
    expect(routes.map(({ free }) => free)).toEqual(['3 requests / day per client', undefined, undefined])
  })

  it('a sponsor without its key file refuses to start, in one sentence', async () => {
    const path = write('sponsor.yaml', `${text}sponsor: ./missing.json\n`)
    for (const more of [['--check'], ['--port', '0']]) {
      const end = await paystile('serve', path, ...more)
      expect([end.code, errorOf(end)]).toEqual([
        2,
        {
          code: 'configuration',
          message:
            'paystile cannot start: sponsor.key: The key file ./missing.json cannot be read: it does not exist; create it with npx paystile keys new ./missing.json.',
        },
      ])
    }
  })

  it('--schema prints the JSON Schema of the file', async () => {
    const { code, stdout } = await paystile('serve', '--schema')
    expect([code, JSON.parse(stdout).required]).toEqual([0, ['routes']])
  })

  it('reads TypeScript', async () => {
    const body = `{ upstream: 'http://127.0.0.1:1', routes: [{ path: '/a', free: true as const }] }`
    const path = write(
      'paystile.config.ts',
      `import { defineGateway } from '${join(process.cwd(), 'dist/gateway/index.js')}'\nexport const config = defineGateway(${body})\n`,
    )
    const { code, stdout } = await paystile('serve', path, '--check')
    expect([code, JSON.parse(stdout).routes]).toEqual([
      0,
      [{ methods: ['GET'], path: '/a', price: 'free', upstream: 'http://127.0.0.1:1' }],
    ])
  })

  it('without a file names the command that makes one', async () => {
    const none = await paystile('serve')
    expect([none.code, errorOf(none).code]).toEqual([2, 'no_file'])
    expect(errorOf(none).message).toMatch(/paystile\.yaml.*npx paystile init$/)
    expect(errorOf(await paystile('serve', 'nothing.yaml')).message).toContain('nothing.yaml')
    expect(errorOf(await paystile('serve', '.')).message).toBe(
      '. is a directory. Give the path of a configuration file.',
    )
  })
})
