/** What a newcomer gets wrong, and what servers do wrong to him: money and resource stay where they belong. */
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { create402Middleware } from '../../src/adapters/node.ts'
import { createPaystileRoutes } from '../../src/adapters/routes.ts'
import { removeTerminalCommands } from '../../src/cli/output.ts'
import { nameFlags } from '../../src/cli/payment-errors.ts'
import { type AgentWallet, initAgentWallet } from '../../src/client/agent-wallet.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { announceLocalnet, withdrawLocalnet } from '../../src/host/home.ts'
import { type ClientFixture, challengeFor, createClientFixture, hasProof } from '../client/client-fixture.ts'
import { listen, type Serve } from '../harness/adapters.ts'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { errorOf } from './command.ts'
import { paystile, runHere } from './in-process.ts'

let fixture: ClientFixture
let shop: Shop
let elsewhere: LocalnetFixture
let wallet: AgentWallet
let bin: string

beforeAll(async () => {
  fixture = await createClientFixture()
  shop = await fixture.open({ waitSeconds: 5, acceptedMints: ['USDC', 'SOL'] })
  elsewhere = await createLocalnetFixture()
  fixture.defer(() => elsewhere.close())
  wallet = await initAgentWallet()
  bin = join(fixture.directory, 'files')
  mkdirSync(bin)
  await fixture.world.localnet.fund(wallet.address, { SOL: 1_000_000_000n, USDC: 1_000_000n })
  announce(fixture.world)
})
beforeEach(async () => {
  await fixture.received()
})
afterAll(() => fixture.close())

function announce({ localnet }: LocalnetFixture, walletFile?: string): void {
  announceLocalnet({ genesis: localnet.genesisHash, rpcUrl: localnet.rpcUrl, ...(walletFile && { walletFile }) })
}

const data = () => `${shop.url}/data`

describe('pay -o', () => {
  it('- is stdout, as in curl', async () => {
    const end = await paystile('pay', data(), '-o', '-')
    expect([end.code, end.stdout, existsSync('-')]).toEqual([0, 'the secret', false])
  })

  it.each([
    [
      'a directory that is not there',
      () => join(bin, 'nowhere', 'file'),
      /cannot be written \(ENOENT\)\. Nothing was paid/,
    ],
    ['a directory', () => bin, /is a directory\. Choose a file/],
    ['something below a file', () => join(wallet.path, 'file'), /cannot be written \(ENOTDIR\)/],
  ])('%s is refused before anything is paid', async (_name, path, words) => {
    const end = await paystile('pay', data(), '-o', path())
    expect([end.code, end.stdout, errorOf(end).code]).toEqual([2, '', 'usage'])
    expect(errorOf(end).message).toMatch(words)
    expect(await fixture.received()).toBe(0)
  })

  it('leaves a file as it was until there is something to write', async () => {
    const file = join(bin, 'kept')
    writeFileSync(file, 'before')
    expect((await paystile('pay', data(), '-o', file, '--network', 'mainnet')).code).toBe(3)
    expect(readFileSync(file, 'utf8')).toBe('before')
    expect((await paystile('pay', data(), '-o', file)).code).toBe(0)
    expect([readFileSync(file, 'utf8'), await fixture.received()]).toEqual(['the secret', 1])
  })

  it.runIf(existsSync('/dev/full'))('gives the resource to stdout when the disk is full', async () => {
    const end = await paystile('pay', data(), '-o', '/dev/full')
    expect([end.code, end.stdout, await fixture.received()]).toEqual([2, 'the secret', 1])
    expect(errorOf(end).message).toBe(
      'The file /dev/full cannot be written (ENOSPC); the resource went to stdout instead.',
    )
  })
})

describe('a resource that says no', () => {
  it('leaves the payment to be used by the same command, and says so', async () => {
    let status = 404
    const picky = await fixture.open({ waitSeconds: 5 }, undefined, () => ({
      status,
      body: status === 404 ? 'not here' : 'here',
    }))
    const first = await paystile('pay', `${picky.url}/data`)
    expect([first.code, first.stdout]).toEqual([8, 'not here'])
    expect(first.stderr).toContain('The payment remains valid. The same command uses it again')
    status = 405
    const second = await paystile('pay', `${picky.url}/data`, '--json')
    expect([second.code, JSON.parse(second.stdout)]).toMatchObject([
      8,
      { status: 405, next: expect.stringContaining('remains valid') },
    ])
    status = 200
    const third = await paystile('pay', `${picky.url}/data`)
    expect([third.code, third.stdout, await fixture.received()]).toEqual([0, 'here', 1])
    expect(third.stderr).not.toContain('kept')
  })

  it('before anything was paid has no payment to keep', async () => {
    const closed = await fixture.host((_request, response) => response.writeHead(404).end('no'))
    const end = await paystile('pay', closed)
    expect([end.code, end.stderr]).toEqual([8, expect.not.stringContaining('kept')])
  })
})

describe('the wallet', () => {
  it('is the own one where a demo of another chain runs, and the demo’s on its chain', async () => {
    const { path, address } = await initAgentWallet({ path: join(bin, 'demo.json') })
    await fixture.world.localnet.fund(address, { SOL: 1_000_000_000n, USDC: 1_000_000n })
    announce(elsewhere, path)
    const own = await paystile('pay', data())
    expect([own.code, own.stdout, own.stderr]).toEqual([
      0,
      'the secret',
      expect.stringContaining(`wallet ${wallet.address}`),
    ])
    announce(fixture.world, path)
    const lent = await paystile('pay', data())
    expect([lent.code, lent.stdout, lent.stderr]).toEqual([0, 'the secret', expect.stringContaining('the demo wallet')])
    const named = await paystile('pay', data(), '--wallet', wallet.path)
    expect(named.stderr).toContain(`wallet ${wallet.address}`)
    expect(await fixture.received()).toBe(3)
  })

  it('is not needed for free resources, and the request is sent once', async () => {
    announce(fixture.world, join(bin, 'demo.json'))
    let requests = 0
    const free = await fixture.host((request, response) => {
      if (request.method === 'POST') requests += 1
      response.end('free')
    })
    const end = await paystile('pay', free, '-d', 'x')
    expect([end.code, end.stdout, requests]).toEqual([0, 'free', 1])
    announce(fixture.world)
  })

  it('that does not exist is refused with the command that creates it', async () => {
    const file = join(bin, 'none.json')
    const named = await paystile('pay', data(), '--wallet', file)
    expect([named.code, errorOf(named).message]).toEqual([
      4,
      `The key file ${file} does not exist. Create it with npx paystile wallet new ${file}, or name another file.`,
    ])
  })

  it('that is a directory keeps its rights', async () => {
    const end = await paystile('pay', data(), '--wallet', bin)
    expect([end.code, errorOf(end).code]).toEqual([4, 'wallet_unusable'])
    expect(errorOf(end).message).toBe(`The key file ${bin} cannot be read: it is a directory; choose a file.`)
  })

  it('is filled on all chains that run here, and the answer names them', async () => {
    announce(elsewhere)
    const { filled } = JSON.parse((await paystile('faucet', wallet.address, '--token', 'SOL')).stdout)
    const urls = [fixture.world, elsewhere].map(({ localnet }) => `${localnet.rpcUrl}/faucet`)
    expect(filled.map(({ faucetUrl }: { faucetUrl: string }) => faucetUrl).sort()).toEqual(urls.sort())
    const [url = ''] = urls
    const one = JSON.parse((await paystile('faucet', wallet.address, '--url', url)).stdout)
    expect(one.filled).toMatchObject([{ faucetUrl: url, amounts: { USDC: expect.any(String) } }])
    withdrawLocalnet(elsewhere.localnet.genesisHash)
  })
})

it('--max for one token is not a leave to pay in another', async () => {
  const end = await paystile('pay', data(), '--max', '0.0001 USDC')
  expect([end.code, end.stdout, errorOf(end).code]).toEqual([3, '', 'price_too_high'])
  expect(errorOf(end).message).toMatch(/0\.01 USDC is more than the limit of 0\.0001 USDC.*Raise --max/)
  const other = errorOf(await paystile('pay', data(), '--max', '1 NATIVE'))
  expect(other.message).toBe(
    'Payments in USDC or SOL are not allowed, because --max has no limit for it. Add one to allow it.',
  )
})

describe('a server', () => {
  it.each([
    ['JSON of another protocol', '{"x402Version":1,"accepts":[]}'],
    ['nothing', ''],
    ['a page', '<html>Pay!</html>'],
  ])('that answers 402 with %s is not understood, and not called free', async (_name, body) => {
    const url = await fixture.host((_request, response) => response.writeHead(402).end(body))
    const words = /402 .*: it requires a payment protocol that paystile does not support; nothing was paid/
    const paid = await paystile('pay', url)
    expect([paid.code, paid.stdout, paid.stderr]).toEqual([8, body, expect.stringMatching(words)])
    const dry = await paystile('pay', url, '--dry-run')
    expect([dry.code, dry.stdout]).toEqual([8, body])
    const quote = await paystile('quote', url)
    expect([quote.code, JSON.parse(quote.stdout)]).toEqual([8, { ok: false, status: 402, challenge: null }])
  })

  it('that never answers is given up in one sentence', async () => {
    const silent = await fixture.host(() => {})
    for (const command of ['pay', 'quote']) {
      const end = await paystile(command, silent, '--timeout', '1')
      expect([end.code, end.stdout, errorOf(end).code]).toEqual([7, '', 'server_unavailable'])
      expect(errorOf(end).message).toMatch(/did not respond in time.*--timeout\.$/)
    }
  })

  it('that cannot be reached is named, with the reason and the action', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}/report`
    closed.close()
    for (const command of ['pay', 'quote']) {
      const end = await paystile(command, url)
      expect([end.code, end.stdout, errorOf(end).code]).toEqual([7, '', 'server_unavailable'])
      expect(errorOf(end).message).toBe(
        `${url} cannot be reached: nothing listens at ${new URL(url).host} (ECONNREFUSED). Check the port, and that the server is running. Nothing was paid.`,
      )
    }
  })

  it('that ends early is reported, and the payment is used again', async () => {
    let isBroken = true
    const front = await fixture.front(shop.url, (request, response) => {
      if (!isBroken || (request.url === '/data' && !hasProof(request))) return false
      response.writeHead(200, { 'content-length': 100 })
      response.write('half', () => response.destroy())
      return true
    })
    const free = await paystile('pay', `${front}/free`)
    expect([free.code, free.stdout, errorOf(free).code]).toEqual([7, 'half', 'unreachable'])
    const paid = await paystile('pay', `${front}/data`)
    expect([paid.code, errorOf(paid).code]).toEqual([6, 'paid_not_delivered'])
    isBroken = false
    expect((await paystile('pay', `${front}/data`)).stdout).toBe('the secret')
    expect(await fixture.received()).toBe(1)
  })

  it('that answers with an error gives its body and an exit code, paid or not', async () => {
    const free = await fixture.host((_request, response) => response.writeHead(404).end('none'))
    const sold = await fixture.open({ waitSeconds: 5 }, undefined, () => ({ status: 404, body: 'gone' }))
    const unpaid = await paystile('pay', free)
    expect([unpaid.code, unpaid.stdout]).toEqual([8, 'none'])
    const file = join(bin, 'gone')
    writeFileSync(file, 'what was there before')
    const kept = await paystile('pay', `${sold.url}/data`, '-o', file)
    expect([kept.code, kept.stdout, readFileSync(file, 'utf8')]).toEqual([8, 'gone', 'what was there before'])
    expect(kept.stderr).toContain(`${file} is unchanged`)
    const json = await paystile('pay', `${sold.url}/data`, '--json')
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      8,
      expect.objectContaining({ ok: false, status: 404, body: 'gone' }),
    ])
    const quote = await paystile('quote', free)
    expect([quote.code, JSON.parse(quote.stdout).ok]).toEqual([8, false])
  })
})

describe('verify', () => {
  const tx = '2Qz9U6mrmGTMuTDzXKMVJf7KGsWpi8zPq8hBWAUzQfnFTHjERvRueyqUFsNn4pTiX6QNzQRNvn4745E6xteGYWSg'
  it.each([
    [['notatx', 'rid'], '"notatx" is not a transaction signature.'],
    [[tx, 'rid', '--amount', '1', '--token', 'USDC'], /^--recipient is missing\. Specify the expected payment/],
    [[tx, 'rid', '--token', 'USDC'], /^--recipient, --amount are missing\. /],
    [
      [tx, 'rid', '--network', 'devnet'],
      /^--recipient, --amount, --token are missing\. Specify the expected payment, or the service's secret/,
    ],
    [[tx, 'rid', '--recipient', 'me', '--amount', '1', '--token', 'USDC'], /^--recipient: must be .*address/],
  ])('%j gets an explanation', async (args, words) => {
    const end = await paystile('verify', ...args)
    expect([end.code, errorOf(end).code]).toEqual([2, 'usage'])
    expect(errorOf(end).message).toMatch(words)
    expect(errorOf(end).message).not.toMatch(/cannot start/)
  })
})

it.each([
  ['Use https, or set allowHttp.', 'Use https, or set --allow-http.'],
  ['Pass its node as rpc, or set PAYSTILE_RPC.', 'Pass its node as --rpc, or set PAYSTILE_RPC.'],
  ['set mints.NATIVE to its address.', 'set --mint NATIVE=… to its address.'],
  ['http://rpc.example.com is not https', 'http://rpc.example.com is not https'],
])('%j is said as %j', (words, said) => expect(nameFlags(words)).toBe(said))

it('T239: headers and JSON of a server cannot command a terminal', async () => {
  const text = 'free \u009b2J\u202e'
  const host = await fixture.host((_request, response) =>
    response.writeHead(200, 'OK', { 'x-note': '\u009b2J' }).end(JSON.stringify({ text })),
  )
  const file = join(bin, 'commands')
  const shown = await paystile('pay', host, '-i', '-o', file)
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('x-note:  2J\n')])
  const json = await paystile('pay', host, '--json')
  const saved = await paystile('pay', host, '--json', '-o', file)
  expect(`${json.stdout}${saved.stdout}`).toMatch(/^[\x20-\x7e\n]+$/)
  expect(JSON.parse(json.stdout)).toMatchObject({ headers: { 'x-note': '\u009b2J' }, body: JSON.stringify({ text }) })
  expect(JSON.parse(saved.stdout)).toMatchObject({ headers: { 'x-note': '\u009b2J' } })
})

it('T237: a price in a token that the server does not take is not shown', async () => {
  const cheap = { amount: '0.000001', currency: 'USDC', acceptedMints: ['SOL'] }
  const more = { ...cheap, amounts: { USDC: '0.000001', SOL: '0.01' } } as Partial<Challenge>
  const host = await fixture.host((request, response) => {
    response.writeHead(402).end(challengeFor(fixture, `http://${request.headers.host}/`, more))
  })
  const dry = await runHere(['pay', host, '--dry-run'], { isTerminal: true })
  expect(dry.stdout).toBe('It would cost 0.01 SOL, and your limits allow it. Nothing was paid.\n')
  const quote = await runHere(['quote', host], { isTerminal: true })
  expect(quote.stdout).toMatch(/Price +0\.01 SOL\n/)
  expect(await fixture.received()).toBe(0)
})

it.each([
  [['--mint', 'SOL=So11111111111111111111111111111111111111112:9'], /--mint SOL=…: is not a token that has a mint/],
  [['--rpc', '127.0.0.1:8899'], /--rpc must be the http or https address of a node/],
])('%j is refused before anything is sent, with the name of the option', async (args, words) => {
  let requests = 0
  const host = await fixture.host((_request, response) => {
    requests += 1
    response.end('free')
  })
  for (const command of ['pay', 'quote']) {
    const end = await paystile(command, host, ...args)
    expect([end.code, requests]).toEqual([2, 0])
    expect(errorOf(end).message).toMatch(words)
  }
  const server = await paystile('mcp', '--budget', '1 USDC', ...args)
  expect([server.code, errorOf(server).message]).toEqual([2, expect.stringMatching(words)])
})

it.each([
  [['-X', 'GET', '-d', 'x'], /cannot be sent: .*body/],
  [['-d', '@missing'], /missing cannot be read \(ENOENT\)\. Use -d @/],
  [['-H', 'x-name: €'], /^The header x-name has characters that HTTP does not permit\. Encode them\.$/],
  [['-o', ''], /^-o needs the name of a file\. Nothing was paid\.$/],
])('a request such as %j is refused with the next step', async (args, words) => {
  const end = await paystile('pay', data(), ...args)
  expect([end.code, errorOf(end).message]).toEqual([2, expect.stringMatching(words)])
})

it.each(['pay', 'quote'])('%s explains a password in the address, and does not repeat it', async (command) => {
  const end = await paystile(command, data().replace('://', '://me:hunter2@'))
  expect([end.code, errorOf(end).message]).toEqual([2, expect.stringContaining('Send them as a header')])
  expect(end.stderr).not.toContain('hunter2')
})

it('a server that redirects without end is named as such', async () => {
  const url = await fixture.host((_request, response) => response.writeHead(302, { Location: '/again' }).end())
  const end = await paystile('pay', url)
  expect([end.code, errorOf(end).message]).toEqual([7, 'The server redirects without end. Check the address.'])
})

it('pay --help describes the output of --json', async () => {
  expect((await paystile('pay', '--help')).stdout).toMatch(/--json\s+print status, headers, payment and body as one/)
})

it('a purchase from a demo counts as one challenge', async () => {
  const { localnet } = fixture.world
  const routes = createPaystileRoutes({ network: 'localnet', rpc: localnet.rpcUrl, ledger: 'memory:', watch: false })
  let unpaid = 0
  const serve: Serve = (options) => {
    const paid = create402Middleware(options)
    const server = createServer((request, response) => {
      if (request.url === '/data' && !request.headers['payment-proof']) unpaid += 1
      routes.listener(request, response, () => paid(request, response, () => response.end('the secret')))
    })
    return listen(server, paid)
  }
  const demo = await fixture.open({}, serve)
  announce(fixture.world, wallet.path)
  const end = await paystile('pay', `${demo.url}/data`)
  withdrawLocalnet(localnet.genesisHash)
  announce(fixture.world)
  await routes.close()
  expect([end.code, end.stdout, unpaid, await fixture.received()]).toEqual([0, 'the secret', 1, 1])
})

describe('T112: text of a server', () => {
  const evil = 'cheap\u001b]0;title\u0007\u001b[8m\r\n  Limits     all is well\u009b2J'
  const isClean = (text: string) => !/(?!\n)\p{Cc}/u.test(text) && !text.includes('\n  Limits     all is well')

  it('cannot write to the terminal of its buyer as it likes', async () => {
    const url = await fixture.host((request, response) => {
      const address = `http://${request.headers.host}${request.url}`
      if (!hasProof(request)) response.writeHead(402).end(challengeFor(fixture, address, { description: evil }))
      else {
        const problem = { type: 'urn:paystile:problem:no', code: 'no', retryable: false, detail: evil }
        response.writeHead(403, { 'Content-Type': 'application/problem+json' }).end(JSON.stringify(problem))
      }
    })
    const quoted = await runHere(['quote', url], { isTerminal: true })
    expect([quoted.stdout.includes('cheap'), isClean(quoted.stdout)]).toEqual([true, true])
    const paid = await runHere(['pay', url], { isTerminal: true })
    expect([paid.code, paid.stderr.match(/cheap/g)?.length, isClean(paid.stderr)]).toEqual([5, 2, true])
  })

  it('that no command expects loses its control characters, and colours stay', () => {
    expect(removeTerminalCommands('\u001b[31mred\u001b[39m\u001b[2J\u001b]0;x\u0007\u009b2J\u202e\n\tnext')).toBe(
      '\u001b[31mred\u001b[39m [2J ]0;x  2J \n\tnext',
    )
  })
})

describe('--protocol', () => {
  it('selects the protocol, and refuses unknown ones', async () => {
    const url = `${(await fixture.open({ mpp: true })).url}/data`
    const flags = ['--protocol', 'mpp', '--network', 'localnet', '--json']
    const quoted = JSON.parse((await paystile('quote', url, ...flags)).stdout)
    expect(quoted).toMatchObject({ challenge: null, offers: [{ protocol: 'mpp', price: '0.01 USDC', allowed: true }] })
    const dry = JSON.parse((await paystile('pay', url, '--dry-run', ...flags)).stdout)
    expect(dry).toMatchObject({ dryRun: true, protocol: 'mpp' })
    const paid = JSON.parse((await paystile('pay', url, ...flags)).stdout)
    expect(paid).toMatchObject({ status: 200, payment: { protocol: 'mpp' } })
    const wrong = await paystile('quote', url, '--protocol', 'cheque')
    expect([wrong.code, errorOf(wrong).message]).toEqual([2, expect.stringContaining('is not a payment protocol')])
  })
})
