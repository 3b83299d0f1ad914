/** `npm start` and what it says to type, as a newcomer meets it: real processes on the built package. */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLong } from '../harness/length.ts'
import { eventually, useTemporaryHome } from '../harness/shop.ts'
import { type Finished, finished, paystileProcess, root, start } from './command.ts'
import { paystile } from './in-process.ts'

const home = useTemporaryHome()

interface Ready {
  readonly url: string
  readonly rpcUrl: string
  readonly network: string
  readonly wallet: { readonly address: string; readonly keyFile: string }
  readonly faucetUrl: string
  readonly resources: readonly { readonly path: string; readonly price: string; readonly token: string }[]
}

let demo: ChildProcess
let demoEnd: Promise<Finished>
let ready: Ready

beforeAll(async () => {
  demo = start(['scripts/start.mjs', '--json', '--port', '0', '--slot-ms', '50'])
  demoEnd = finished(demo)
  const line = await new Promise<string>((resolve) => demo.stdout?.once('data', (data) => resolve(String(data))))
  ready = JSON.parse(line)
})
afterAll(() => home.remove())

describe('npm start -- --json', () => {
  it('tells everything in one line', () => {
    expect(Object.keys(ready)).toEqual(['url', 'rpcUrl', 'network', 'wallet', 'faucetUrl', 'resources'])
    expect(ready).toMatchObject({ network: 'localnet', faucetUrl: `${ready.url}/faucet` })
    expect(ready.resources.length).toBeGreaterThanOrEqual(3)
    const numbers = JSON.parse(readFileSync(ready.wallet.keyFile, 'utf8'))
    expect(numbers).toHaveLength(64)
    expect(statSync(ready.wallet.keyFile).mode & 0o777).toBe(0o600)
  })

  it('has simulated customers, so that the dashboard shows sales', async () => {
    const sold = await eventually(
      async () => (await (await fetch(`${ready.url}/api/analytics`)).json()).payments,
      (payments) => payments > 0,
      2_000,
    )
    expect(sold).toBeGreaterThan(0)
    const page = await fetch(`${ready.url}/dashboard`)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  })

  it('creates no problems itself: the initial balance of its provider is not a payment', async () => {
    const answer = await fetch(`${ready.url}/analytics/problems?kind=unmatched`)
    expect([answer.status, ((await answer.json()) as { readonly records: unknown }).records]).toEqual([200, []])
  })

  it('sells every resource it lists', async () => {
    for (const { path, price, token } of ready.resources) {
      const unpaid = await fetch(`${ready.url}${path}`)
      expect(unpaid.status).toBe(402)
      expect(await unpaid.json()).toMatchObject({ amount: price, currency: token })
      const { code, stdout, stderr } = await paystile('pay', `${ready.url}${path}`)
      expect([code, stderr]).toEqual([0, expect.stringContaining(`${price} ${token}`)])
      expect(stdout).toMatch(
        /^\{"status":"verified","message":"[^"]+","data":\{|^<svg |^<!doctype html>|^BEGIN:VCALENDAR/,
      )
    }
  })

  it('has a front page, a faucet and an identity', async () => {
    const list = await (await fetch(ready.url)).json()
    expect(list.endpoints).toHaveLength(ready.resources.length)
    const page = await (await fetch(ready.url, { headers: { Accept: 'text/html' } })).text()
    for (const { path } of ready.resources) expect(page).toContain(`href="${path}"`)
    const identity = await (await fetch(`${ready.url}/.well-known/paystile`)).json()
    expect(identity.identityKey).toMatch(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/)
    const order = {
      method: 'POST',
      body: JSON.stringify({ address: ready.wallet.address, token: 'USDC', amount: '5' }),
    }
    expect(await (await fetch(ready.faucetUrl, order)).json()).toMatchObject({ amounts: { USDC: '5' } })
    expect((await fetch(ready.faucetUrl, { method: 'POST', body: '{"address":"nobody"}' })).status).toBe(400)
    expect((await fetch(`${ready.url}/api/nothing`)).status).toBe(404)
  })

  it('says that it is ready, and for which tokens it sells', async () => {
    const response = await fetch(`${ready.url}/readyz`)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ ready: true, offered: ['NATIVE', 'USDC', 'SOL'], withheld: {}, why: [] })
  })
})

describe('paystile', () => {
  const moon = () => `${ready.url}/api/moon`

  it('pay --json prints the payment, and verify confirms it', async () => {
    const { code, stdout } = await paystileProcess('pay', moon(), '--json', '--token', 'SOL')
    expect(code).toBe(0)
    const { payment, body, status } = JSON.parse(stdout)
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 'verified', data: { phase: expect.any(String) } })
    expect(payment).toMatchObject({ token: 'SOL', network: 'localnet' })
    const used = await paystile('verify', payment.tx, payment.requestId)
    expect(used.code).toBe(5)
    expect(JSON.parse(used.stdout)).toMatchObject({
      valid: false,
      code: 'payment_replay',
      checks: {
        exists: 'passed',
        recipient: 'passed',
        amount: 'passed',
        memo: 'passed',
        unused: 'failed',
        sealed: 'passed',
      },
    })
    const wrong = await paystile('verify', payment.tx, 'another-request')
    expect([wrong.code, JSON.parse(wrong.stdout).code]).toEqual([5, 'memo_mismatch'])
  })

  it('pay -i -o writes headers to stdout and the body to a file', async () => {
    const file = join(home.path, 'art.svg')
    const { code, stdout } = await paystile('pay', `${ready.url}/api/art`, '-i', '-o', file)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^HTTP 200 OK\n[\s\S]*payment-receipt: /)
    expect(readFileSync(file, 'utf8')).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
  })

  it('quote asks and pays nothing', async () => {
    const before = await paystile('wallet', 'balance', ready.wallet.keyFile)
    const { code, stdout } = await paystile('quote', moon())
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ status: 402, allowed: true, challenge: { amount: '0.001' } })
    expect((await paystile('wallet', 'balance', ready.wallet.keyFile)).stdout).toBe(before.stdout)
  })

  it('wallet new, show, faucet and balance go together', async () => {
    const made = JSON.parse((await paystile('wallet', 'new')).stdout)
    expect(JSON.parse((await paystile('wallet', 'show')).stdout).address).toBe(made.address)
    const again = await paystile('wallet', 'new')
    expect([again.code, JSON.parse(again.stderr).error.code]).toEqual([4, 'wallet_exists'])
    expect((await paystile('faucet', '--token', 'usdc', '--amount', '2.5')).code).toBe(0)
    const balance = JSON.parse((await paystile('wallet', 'balance')).stdout)
    expect(balance).toMatchObject({
      address: made.address,
      network: 'localnet',
      balances: { SOL: '0', USDC: '2.5', NATIVE: '0' },
    })
    expect((await paystile('faucet', '--token', 'EURC', '--amount', '0.25')).code).toBe(0)
    const euro = 'EURC=HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr:6'
    const more = JSON.parse((await paystile('wallet', 'balance', '--mint', euro)).stdout)
    expect(more.balances).toEqual({ SOL: '0', USDC: '2.5', NATIVE: '0', EURC: '0.25' })
    const poor = await paystile('pay', moon(), '--wallet', made.keyFile)
    expect([poor.code, JSON.parse(poor.stderr.trim().split('\n').at(-1) ?? '').error.code]).toEqual([
      4,
      'insufficient_funds',
    ])
  })

  it.each<[number, string, (url: string) => string[]]>([
    [3, 'price_too_high', (url) => ['pay', url, '--max', '0.0005 USDC', '--token', 'USDC']],
    [3, 'network_not_allowed', (url) => ['pay', url, '--network', 'mainnet']],
    [4, 'wallet_unusable', (url) => ['pay', url, '--wallet', 'no-such-file.json']],
    [2, 'usage', () => ['pay', 'not an address']],
    [2, 'usage', (url) => ['pay', url, '-H', 'nonsense']],
    [2, 'usage', (url) => ['pay', url, '--token', 'DOGE!']],
    [2, 'usage', (url) => ['pay', url, '--max', 'much']],
    [2, 'usage', (url) => ['pay', url, '-d', '@no-such-file']],
    [2, 'usage', () => ['demo', '--port', 'x']],
    [2, 'usage', () => ['faucet', 'nobody']],
    [7, 'server_unavailable', () => ['quote', 'http://127.0.0.1:1/']],
  ])('ends with %i and the code %s when it cannot go on', async (exit, code, args) => {
    const { code: exitCode, stdout, stderr } = await paystile(...args(moon()))
    expect(stdout).toBe('')
    const { ok, error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
    expect([exitCode, ok, error.code]).toEqual([exit, false, code])
    expect(error.message).toMatch(/[.?!]$/)
  })

  it.each([[['no-such-command']], [['pay']], [['pay', 'http://127.0.0.1:1/', '--no-such-option']], [['verify', 'x']]])(
    'answers %j with how it is used, and 2',
    async (args) => {
      const { code, stderr } = await paystile(...args)
      expect(code).toBe(2)
      expect(stderr).toMatch(/--help/)
    },
  )

  it('answers --help and --version with 0', async () => {
    expect((await paystile('--help')).stdout).toMatch(
      /demo[\s\S]*localnet[\s\S]*pay[\s\S]*quote[\s\S]*verify[\s\S]*wallet[\s\S]*faucet/,
    )
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect((await paystile('--version')).stdout.trim()).toBe(version)
  })
})

describe('Ctrl-C', () => {
  it('ends the demo cleanly: exit code 0, one line on stdout, its directory gone', async () => {
    demo.kill('SIGINT')
    const { code, stdout, stderr } = await demoEnd
    expect(code).toBe(0)
    expect(stdout.trim().split('\n')).toHaveLength(1)
    expect(stderr).toMatch(/402[\s\S]*paid[\s\S]*delivered/)
    expect(existsSync(dirname(ready.wallet.keyFile))).toBe(false)
    const gone = await paystile('faucet')
    expect([gone.code, JSON.parse(gone.stderr).error.code]).toEqual([7, 'no_localnet'])
  })
})

// In the short form, tests/cli/stop.test.ts goes on with a kept chain and ledger.
if (isLong) {
  describe('--keep', () => {
    const open = async () => {
      const child = start(['dist/cli/main.js', 'demo', '--alone', '--json', '--keep', '--port', '0', '--slot-ms', '50'])
      const end = finished(child)
      const line = await new Promise<string>((resolve, reject) => {
        child.stdout?.once('data', (data) => resolve(String(data)))
        void end.then(({ code, stderr }) => reject(new Error(`it ended with ${code} before it was ready: ${stderr}`)))
      })
      const stop = () => {
        child.kill('SIGTERM')
        return end
      }
      return { ready: JSON.parse(line) as Ready, stop }
    }

    it('goes on next time with the same chain, wallet and ledger', async () => {
      const first = await open()
      const paid = JSON.parse((await paystile('pay', `${first.ready.url}/api/moon`, '--json')).stdout).payment
      const { code, stderr } = await first.stop()
      expect([code, stderr]).toEqual([0, expect.stringContaining('(10 SOL, 100 USDC, 1000 NATIVE to spend)')])
      const second = await open()
      expect(second.ready.wallet).toEqual(first.ready.wallet)
      const verdict = JSON.parse((await paystile('verify', paid.tx, paid.requestId)).stdout)
      expect(verdict).toMatchObject({ code: 'payment_replay', checks: { exists: 'passed', unused: 'failed' } })
      expect(await second.stop()).toMatchObject({ code: 0, stderr: expect.stringContaining(' 99.999 USDC, ') })
    })
  })
}
