/** `paystile serve --processes 2` as clients and operators meet it. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { owner, signInAt } from '../api/people.ts'
import { createLocalnetFixture, type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { eventually, useTemporaryHome } from '../harness/shop.ts'
import { errorOf, type Finished, finished, paystileIn, start } from './command.ts'
import * as inProcess from './in-process.ts'
import { type Answered, countStatus, type Gateway, redeem, startGateway } from './processes-fixture.ts'

const home = useTemporaryHome()
const directory = mkdtempSync(join(tmpdir(), 'paystile-processes-'))
const upstream = createServer((_request, response) => response.end('the secret'))
const file = join(directory, 'paystile.yaml')
let world: LocalnetFixture
let payer: KeyPairSigner
let child: ChildProcess
let end: Promise<Finished>
let gateway: Gateway
let url: string
/** Responses with a price. */
let challenged = 0
let text: string

beforeAll(async () => {
  world = await createLocalnetFixture()
  payer = await world.person()
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  text = [
    'network: localnet',
    `rpc: ${world.localnet.rpcUrl}`,
    `ledger: ${join(directory, 'ledger.sqlite')}`,
    `recipient: ${world.recipient.address}`,
    `owners: [${owner.address}]`,
    'edit: true',
    'token: USDC',
    'listen: { port: 0 }',
    `upstream: http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    'waitSeconds: 0',
    'routes:',
    '  - { path: /report, price: 0.01 }',
    '  - { path: /trial, price: 0.01, free: { requests: 5, per: day } }',
    '  - { path: /open, free: true }',
    '',
  ].join('\n')
  writeFileSync(file, text)
  gateway = startGateway(file, 2)
  ;({ child, end } = gateway)
  const line = await gateway.ready
  expect(line).toMatchObject({ processes: 2 })
  url = line.url
})
afterAll(async () => {
  child.kill('SIGKILL')
  upstream.close()
  await world.close()
  home.remove()
  rmSync(directory, { recursive: true, force: true })
})

const get = async (path: string, headers?: Readonly<Record<string, string>>): Promise<Answered> => {
  const answer = await gateway.get(path, headers)
  if (answer.status === 402) challenged += 1
  return answer
}

const many = (count: number, path: string): Promise<readonly Answered[]> =>
  Promise.all(Array.from({ length: count }, () => get(path)))

const challenge = async (path: string): Promise<Challenge> => JSON.parse((await get(path)).body)
const buy = async (path: string): Promise<string> => {
  const asked = await challenge(path)
  return proofOf(await world.pay(asked, payer), asked, payer)
}

describe('the processes of a gateway', () => {
  it('T193: share the free quota of a client', async () => {
    const answers = await many(24, '/trial')
    expect([countStatus(answers, 200), countStatus(answers, 402)]).toEqual([5, 19])
  })

  it('T193: share the limit of invalid proofs', async () => {
    const asked = await challenge('/report')
    const tx = '5'.repeat(87)
    const answers: Answered[] = []
    for (let index = 0; index < 12; index += 1)
      answers.push(await get('/report', { 'Payment-Proof': proofOf(tx, asked, payer) }))
    expect([countStatus(answers, 429), answers.length]).toEqual([7, 12])
  })

  it('T193: serve a payment once that is shown to all of them at the same time', async () => {
    const proof = await buy('/report')
    const answers = await Promise.all(Array.from({ length: 16 }, () => redeem(`${url}/report`, proof)))
    expect([countStatus(answers, 200), countStatus(answers, 409)]).toEqual([1, 15])
  })

  it('report the metrics of the whole, and one of them watches the chain for all', async () => {
    await many(20, '/report')
    await eventually(
      () => gateway.metric('paystile_requests_total{outcome="challenged"}'),
      (now) => now === challenged,
      200,
    )
    expect(await gateway.metric('paystile_watcher_connections_total')).toBe(1)
    const seen = 'paystile_payments_seen_total{by="socket"}'
    const paid = (await gateway.metric(seen)) || 0
    const proofs = [await buy('/report'), await buy('/report')]
    await eventually(
      () => gateway.metric(seen),
      (now) => now === paid + 2,
      200,
    )
    for (const proof of proofs) expect((await redeem(`${url}/report`, proof)).body).toBe('the secret')
  })

  const prices = async () =>
    new Set((await many(8, '/report')).map(({ body }) => (JSON.parse(body) as Challenge).amount))

  it('T192: take over a price that an owner changes at one of them', async () => {
    const headers = { 'Content-Type': 'application/json', ...(await signInAt(url, owner)) }
    const { version } = JSON.parse((await get('/api/service', headers)).body).prices.file
    const body = JSON.stringify({ version, prices: [{ route: 0, price: '0.05' }], save: true })
    const changed = await fetch(`${url}/api/prices`, { method: 'POST', headers, body })
    expect(await changed.json()).toMatchObject({ isSaved: true, lines: [{ before: '0.01', after: '0.05' }] })
    expect(await prices()).toEqual(new Set(['0.05']))
  })

  it('take over a changed file together, or none of them if it is wrong', async () => {
    writeFileSync(file, text.replace('/report, price: 0.01', '/report, price: 0.02'))
    child.kill('SIGHUP')
    await eventually(
      () => gateway.notes(),
      (words) => /Reloaded \S+: \d routes\./.test(words),
      2_000,
    )
    expect(await prices()).toEqual(new Set(['0.02']))
    writeFileSync(file, text.replace('price: 0.01', 'pirce: 0.03'))
    child.kill('SIGHUP')
    await eventually(
      () => gateway.notes(),
      (words) => words.includes('Not reloaded'),
      2_000,
    )
    expect(await prices()).toEqual(new Set(['0.02']))
  })

  it('a process that is killed is replaced with the configuration of the others, and another one watches', async () => {
    for (const pid of gateway.listProcesses()) {
      process.kill(pid, 'SIGKILL')
      await eventually(
        async () => {
          const pids = gateway.listProcesses()
          return [pids.includes(pid), pids.length, (await get('/open').catch(() => undefined))?.status]
        },
        ([isHere, length, status]) => !isHere && length === 2 && status === 200,
        400,
      )
    }
    // The file is still wrong, so a process that read it could not start.
    await eventually(
      async () => (await many(8, '/report')).map(({ status }) => status).join(),
      (statuses) => statuses === Array.from({ length: 8 }, () => 402).join(),
      400,
    )
    const proof = await buy('/report')
    expect((await redeem(`${url}/report`, proof)).body).toBe('the secret')
    expect(await gateway.metric('paystile_watcher_current')).toBe(1)
  })

  it('a rolling restart refuses no connection', async () => {
    const before = new Set(gateway.listProcesses())
    let isOver = false
    const statuses = new Set<unknown>()
    const visit = async (): Promise<void> => {
      while (!isOver) {
        statuses.add((await get('/open').catch((error: Error) => ({ status: error.message }))).status)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    const visits = [visit(), visit()]
    child.kill('SIGUSR2')
    await eventually(
      () => gateway.notes(),
      (words) => words.includes('Replaced all 2 processes'),
      2_000,
    )
    isOver = true
    await Promise.all(visits)
    expect(statuses).toEqual(new Set([200]))
    expect(gateway.listProcesses().filter((pid) => before.has(pid))).toEqual([])
  })

  it('end with their supervisor at SIGTERM', async () => {
    const pids = gateway.listProcesses()
    child.kill('SIGTERM')
    expect((await end).code).toBe(0)
    expect(pids.filter(isAlive)).toEqual([])
  })
})

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('paystile serve --processes', () => {
  it.each([
    ['many', '--processes must be auto, or a whole number from 1 to 64, not "many".'],
    ['0', '--processes must be a whole number from 1 to 64, not "0".'],
  ])('refuses %s', async (number, message) => {
    writeFileSync(file, text)
    const ended = await inProcess.paystileIn(directory, 'serve', '--processes', number)
    expect([ended.code, errorOf(ended).message]).toEqual([2, message])
  })

  it('refuses a ledger in memory, because each process would sell a payment again', async () => {
    writeFileSync(file, text.replace(/ledger: .*/, 'ledger: "memory:"'))
    const ended = await inProcess.paystileIn(directory, 'serve', '--processes', '2')
    expect([ended.code, errorOf(ended).message]).toEqual([
      2,
      'The ledger of several processes must be a file or PostgreSQL. Change ledger, or remove --processes.',
    ])
  })

  it('refuses to run below another supervisor', async () => {
    writeFileSync(file, text)
    const script = join(directory, 'foreign.mjs')
    const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
    writeFileSync(
      script,
      `import cluster from 'node:cluster'
      cluster.setupPrimary({ exec: ${JSON.stringify(main)}, args: ['serve', ${JSON.stringify(file)}, '--processes', '2'] })
      cluster.fork().once('exit', (code) => process.exit(code))`,
    )
    const ended = await finished(start([script]))
    expect([ended.code, ended.stderr]).toEqual([
      2,
      expect.stringContaining('--processes does not work in a process of another cluster, such as that of pm2.'),
    ])
  })

  it('tells a port in use in a sentence', async () => {
    const { port } = upstream.address() as AddressInfo
    writeFileSync(file, text)
    const ended = await paystileIn(directory, 'serve', '--processes', '2', '--port', String(port))
    expect([ended.code, errorOf(ended)]).toEqual([
      2,
      { code: 'port_in_use', message: `Port ${port} is in use. Choose another with --port.` },
    ])
  })
})
