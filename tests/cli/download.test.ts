/** `pay` for what is sold by the bundle, the hour and the byte: what is said, what is kept, and the command that goes on. */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { boughtText, bytesText, leftText } from '../../src/cli/allowance-text.ts'
import { type AgentWallet, initAgentWallet } from '../../src/client/agent-wallet.ts'
import type { Unit } from '../../src/core/payment/allowance.ts'
import { announceLocalnet } from '../../src/host/home.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { type ClientFixture, createClientFixture } from '../client/client-fixture.ts'
import { createVolume, openLine, serveVolume, type Volume } from '../client/library.ts'
import { errorOf, finished, root, start } from './command.ts'
import { paystile, runHere } from './in-process.ts'

const megabyte = 1_000_000
let fixture: ClientFixture
let wallet: AgentWallet
let path: string
let count = 0

beforeAll(async () => {
  fixture = await createClientFixture()
  wallet = await initAgentWallet()
  const { localnet } = fixture.world
  await localnet.fund(wallet.address, { SOL: 1_000_000_000n, USDC: 10_000_000n })
  announceLocalnet({ genesis: localnet.genesisHash, rpcUrl: localnet.rpcUrl })
})
beforeEach(async () => {
  await fixture.received()
  count += 1
  const directory = join(fixture.directory, `files-${count}`)
  mkdirSync(directory)
  path = join(directory, 'file')
})
afterAll(() => fixture.close())

const filesHere = () => readdirSync(join(path, '..')).sort()
const isHere = ({ bytes }: Volume) => readFileSync(path).equals(bytes)

async function open(volume: Volume, options: Partial<ProviderOptions> = {}): Promise<string> {
  const own = { waitSeconds: 5, scope: `scope-${count}`, ...options }
  const { url } = await fixture.open(own, serveVolume(volume))
  return `${url}/file`
}
const byTheMegabyte = { per: 'megabyte', price: 0.01 } as const
/** A command line as the shell would split it, without `npx paystile`. */
const wordsOf = (command: string) =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(2)
const nextOf = (message: string) => message.slice(message.indexOf('npx paystile'))

describe('pay', () => {
  it('prints the bought allowance and its rest, and uses it with the next command', async () => {
    const url = await open(createVolume(10), { per: { requests: 100 } })
    const first = await paystile('pay', url)
    expect(first.stderr).toMatch(/charges 0\.01 USDC for 100 requests\n/)
    expect(first.stderr).toMatch(/200 {2}requestId \S+; 99 requests left, good until 20/)
    const second = await paystile('pay', url, '--json')
    expect(JSON.parse(second.stdout)).toMatchObject({
      ok: true,
      payment: { tx: expect.any(String), allowance: { unit: 'request', remaining: 98, until: expect.any(String) } },
    })
    expect(await fixture.received()).toBe(1)
  })

  it('writes the paid part to stdout, and prints the command for the rest', async () => {
    const volume = createVolume(1.5 * megabyte)
    volume.bytes = Buffer.from('abcdefghij'.repeat(150_000))
    const url = await open(volume, byTheMegabyte)
    const first = await paystile('pay', url, '--prepay', '1', '-H', 'X-Mine: "it\'s"')
    expect([first.code, first.stdout.length, errorOf(first).code]).toEqual([9, megabyte, 'allowance_exhausted'])
    const next = nextOf(errorOf(first).message)
    expect(next).toBe(`npx paystile pay ${url} --prepay 1 -H 'X-Mine: "it'\\''s"' -H 'Range: bytes=${megabyte}-'`)
    const rest = await paystile('pay', url, '-H', `Range: bytes=${megabyte}-`)
    expect([rest.code, first.stdout + rest.stdout === volume.bytes.toString()]).toEqual([0, true])
    expect(await fixture.received()).toBe(2)
    const json = await paystile('pay', `${url}?2`, '--prepay', '0.5', '--json')
    expect([json.code, JSON.parse(json.stdout)]).toEqual([9, expect.objectContaining({ ok: false, status: 206 })])
    expect(JSON.parse(json.stdout).body.length).toBeGreaterThan(0)
  })

  it.each([
    [['--prepay', 'much'], /--prepay must be a number of megabytes/],
    [['--prepay', '0'], /--prepay must be a number of megabytes/],
    [['--buy-more'], /Set it with -o/],
  ])('with %j gets an explanation', async (args, words) => {
    const end = await paystile('pay', 'http://127.0.0.1:1/', ...args)
    expect([end.code, errorOf(end).message]).toEqual([2, expect.stringMatching(words)])
  })
})

describe('pay -o', () => {
  it('goes on with a file that broke off, in the next process, and pays once', async () => {
    const volume = createVolume(megabyte)
    const line = await openLine(fixture, await open(volume, { ...byTheMegabyte, size: megabyte }))
    volume.stallAt = 500_000
    const child = start(['dist/cli/main.js', 'pay', `${line.url}/file`, '-o', path])
    child.stderr?.on('data', (text: Buffer) => /^paid$/m.test(String(text)) && line.cutAfter(400_000))
    const first = await finished(child)
    expect([first.code, errorOf(first).code]).toEqual([6, 'paid_not_delivered'])
    expect(first.stderr).toContain('charges 0.01 USDC for this file (1 MB)')
    expect(filesHere()).toEqual(['file.part', 'file.part.json'])
    volume.stallAt = undefined
    const second = await paystile('pay', `${line.url}/file`, '-o', path)
    expect([second.code, isHere(volume), filesHere(), await fixture.received()]).toEqual([0, true, ['file'], 1])
    expect(volume.asked.at(-1)?.range).toMatch(/^bytes=[1-9]\d+-$/)
    // No terminal, no progress.
    expect(second.stderr).not.toContain('\r')
  })

  it('keeps the part when the paid bytes end, and the command that it names brings the rest', async () => {
    const volume = createVolume(2.5 * megabyte)
    const url = await open(volume, byTheMegabyte)
    const first = await paystile('pay', url, '-o', path, '--prepay', '1')
    expect([first.code, errorOf(first)]).toEqual([
      9,
      expect.objectContaining({ code: 'allowance_exhausted', offset: megabyte, size: 2.5 * megabyte }),
    ])
    expect([statSync(`${path}.part`).size, await fixture.received()]).toEqual([megabyte, 1])
    const next = nextOf(errorOf(first).message)
    expect(next).toBe(`npx paystile pay ${url} -o ${path} --prepay 1 --buy-more`)
    const rest = await paystile(...wordsOf(next), '--json')
    expect(JSON.parse(rest.stdout)).toMatchObject({ ok: true, file: { path, bytes: 2.5 * megabyte } })
    expect([rest.code, isHere(volume), await fixture.received()]).toEqual([0, true, 2])
  })

  it('names the command that buys all at once where the server cannot go on', async () => {
    const volume = createVolume(1.5 * megabyte, { etag: undefined })
    const url = await open(volume, byTheMegabyte)
    const first = await paystile('pay', url, '-o', path, '--prepay', '1', '--buy-more')
    const next = nextOf(errorOf(first).message)
    expect([first.code, next]).toEqual([9, `npx paystile pay ${url} -o ${path} --buy-more --prepay 2`])
    expect((await paystile(...wordsOf(next))).code).toBe(0)
    expect(isHere(volume)).toBe(true)
  })

  /** A limit on the size of files is as good as a full disk. */
  const withLittleRoom = (...args: readonly string[]) => {
    const command = `ulimit -f 2000; exec "$0" dist/cli/main.js "$@"`
    return finished(spawn('bash', ['-c', command, process.execPath, ...args], { cwd: root }))
  }

  it('keeps part and payment of a file when the disk is full, and goes on when there is room', async () => {
    const volume = createVolume(20 * megabyte)
    const url = await open(volume, { per: 'megabyte', price: 0.001, size: 20 * megabyte })
    const full = await withLittleRoom('pay', url, '-o', path)
    expect([full.code, full.stdout, errorOf(full).code]).toEqual([6, '', 'file_unwritable'])
    expect(errorOf(full).message).toMatch(/\(EFBIG\); the payment and \d+ bytes in .*\.part are kept\. Free disk space/)
    const again = await paystile('pay', url, '-o', path)
    expect([again.code, isHere(volume), await fixture.received()]).toEqual([0, true, 2])
  })

  it('writes the rest of a paid response to stdout if the disk is full', async () => {
    const text = 'the secret'.repeat(500_000)
    const volume = createVolume(0, { etag: undefined })
    volume.bytes = Buffer.from(text)
    const full = await withLittleRoom('pay', await open(volume), '-o', path)
    const kept = readFileSync(`${path}.part`, 'utf8')
    expect([full.code, kept.length > 0, kept + full.stdout === text]).toEqual([2, true, true])
    expect(errorOf(full).message).toMatch(
      /the resource from byte \d+ on went to stdout instead, the bytes before it are in/,
    )
    expect(await fixture.received()).toBe(1)
  })
})

it('quote shows the allowance', async () => {
  const url = await open(createVolume(10), { per: { seconds: 3_600 } })
  const { code, stdout } = await runHere(['quote', url], { isTerminal: true })
  expect([code, stdout]).toEqual([0, expect.stringMatching(/Buys\s+1 hour\n/)])
})

it.each<[Unit, number, string]>([
  ['request', 1, '1 request'],
  ['request', 100, '100 requests'],
  ['second', 3_600, '1 hour'],
  ['second', 5_400, '90 minutes'],
  ['second', 172_800, '2 days'],
  ['second', 61, '61 seconds'],
  ['byte', 5_000_000, '5 MB'],
  ['byte', 1, '1 byte'],
  ['byte', 1_500, '1.5 kB'],
  ['file', 10_000_000, 'this file (10 MB)'],
])('%s %d is bought as "%s"', (unit, amount, text) => expect(boughtText({ unit, amount })).toBe(text))

it('prints the rest of an allowance, except for a single request', () => {
  const until = '2026-01-01T00:00:00Z'
  expect(leftText({ unit: 'request', remaining: 0 })).toBeUndefined()
  expect(leftText({ unit: 'request', remaining: 0, until })).toBe('0 requests left')
  expect(leftText({ unit: 'second', remaining: 60, until })).toBe(`1 minute left, good until ${until}`)
  expect(leftText({ unit: 'byte', remaining: 2_000_000, until })).toBe(
    `2 MB left before this response, good until ${until}`,
  )
  expect(leftText({ unit: 'file', remaining: 12, until })).toBeUndefined()
  expect(bytesText(2_340_000_000)).toBe('2.34 GB')
})
