/** Processes of a gateway that share a PostgreSQL ledger, and end one after the other until none can start. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { borrowEmptyLedger } from '../harness/database.ts'
import { createLocalnetFixture, type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { eventually, useTemporaryHome } from '../harness/shop.ts'
import { errorOf, type Finished, finished, start } from './command.ts'
import { type Answered, countStatus, type Gateway, redeem, startGateway } from './processes-fixture.ts'

const home = useTemporaryHome()
const directory = mkdtempSync(join(tmpdir(), 'paystile-takeover-'))
const file = join(directory, 'paystile.config.mjs')
/** The bodies of webhooks. The leading process sends them. */
const hooks: string[] = []
const upstream = createServer((request, response) => {
  let body = ''
  request.on('data', (data) => {
    body += String(data)
  })
  request.once('end', () => {
    if (request.url === '/hook') hooks.push(body)
    response.end('the secret')
  })
})
let ledger: Awaited<ReturnType<typeof borrowEmptyLedger>>
let world: LocalnetFixture
let payer: KeyPairSigner
let child: ChildProcess
let end: Promise<Finished>
let gateway: Gateway
let url: string

beforeAll(async () => {
  ;[world, ledger] = await Promise.all([createLocalnetFixture(), borrowEmptyLedger()])
  payer = await world.person()
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const place = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const config = {
    network: 'localnet',
    rpc: world.localnet.rpcUrl,
    ledger: ledger.url,
    recipient: world.recipient.address,
    token: 'USDC',
    listen: { port: 0 },
    upstream: place,
    waitSeconds: 0,
    webhooks: [{ url: `${place}/hook`, secret: `whsec_${'a'.repeat(32)}`, events: ['payment.confirmed'] }],
    routes: [
      { path: '/report', price: '0.01' },
      { path: '/trial', price: '0.01', free: { requests: 5, per: 'day' } },
    ],
  }
  writeFileSync(file, `export const config = ${JSON.stringify(config)}`)
  gateway = startGateway(file, 3)
  ;({ child, end } = gateway)
  url = (await gateway.ready).url
})
afterAll(async () => {
  child.kill('SIGKILL')
  await end
  upstream.close()
  await Promise.all([world.close(), ledger.giveBack()])
  home.remove()
  rmSync(directory, { recursive: true, force: true })
})

const get = (path: string): Promise<Answered> => gateway.get(path)
const many = (count: number, path: string): Promise<readonly Answered[]> =>
  Promise.all(Array.from({ length: count }, () => get(path)))
const buy = async (): Promise<{ readonly tx: string; readonly proof: string }> => {
  const asked: Challenge = JSON.parse((await get('/report')).body)
  const tx = await world.pay(asked, payer)
  return { tx, proof: proofOf(tx, asked, payer) }
}
/** The processes that did not lead at first. */
let others: readonly number[]
/** 0 while none leads, or while a killed process still gets connections. */
const findLeader = () => gateway.metric('paystile_leading_pid').catch(() => 0)
const countSeen = async () => (await gateway.metric('paystile_payments_seen_total{by="socket"}')) || 0

describe('processes that share a PostgreSQL ledger', () => {
  it('T193: grant a client its free requests once', async () => {
    const answers = await many(30, '/trial')
    expect([countStatus(answers, 200), countStatus(answers, 402)]).toEqual([5, 25])
  })

  it('T193: serve each payment once that is shown to all of them over many connections', async () => {
    const bought = await Promise.all([buy(), buy(), buy()])
    const answers = await Promise.all(
      bought.map(({ proof }) => Promise.all(Array.from({ length: 24 }, () => redeem(`${url}/report`, proof)))),
    )
    const counts = answers.map((each) => [countStatus(each, 200), countStatus(each, 409)])
    expect(counts).toEqual(bought.map(() => [1, 23]))
  })

  it('after a SIGKILL of the leading process, one of the others watches the chain and sends the webhooks', async () => {
    const leader = await findLeader()
    expect(gateway.listProcesses()).toContain(leader)
    others = gateway.listProcesses().filter((pid) => pid !== leader)
    // No replacement starts, so that only the others can lead.
    writeFileSync(file, 'throw new Error("The disk is full.")')
    process.kill(leader, 'SIGKILL')
    expect(others).toContain(await eventually(findLeader, (pid) => pid !== leader && pid !== 0))
    await eventually(
      () => gateway.metric('paystile_watcher_current'),
      (now) => now === 1,
    )
    const seen = await countSeen()
    const bought = [await buy(), await buy()]
    await eventually(countSeen, (now) => now === seen + bought.length)
    for (const { proof } of bought) {
      expect((await redeem(`${url}/report`, proof)).body).toBe('the secret')
      expect((await redeem(`${url}/report`, proof)).status).toBe(409)
    }
    await eventually(
      () => hooks.join(),
      (words) => bought.every(({ tx }) => words.includes(tx)),
    )
    expect((await many(6, '/trial')).map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 402))
  })

  it('the command ends with the reason after the last process, because no other can start', async () => {
    for (const pid of others) process.kill(pid, 'SIGKILL')
    const ended = await end
    expect([ended.code, errorOf(ended)]).toEqual([
      1,
      {
        code: 'processes_failed',
        message: expect.stringMatching(/^The processes cannot start: .*: The disk is full\. See the log\.$/),
      },
    ])
    await expect(get('/report')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    expect(gateway.listProcesses()).toEqual([])
  })
})

it('the command ends after five processes that ended before they served', async () => {
  writeFileSync(
    file,
    `import cluster from 'node:cluster'
    if (cluster.isWorker) process.exit(7)
    export const config = ${JSON.stringify({
      ...{ network: 'localnet', rpc: world.localnet.rpcUrl, ledger: ledger.url, recipient: world.recipient.address },
      ...{ token: 'USDC', listen: { port: 0 }, upstream: 'http://127.0.0.1:9' },
      routes: [{ path: '/report', price: '0.01' }],
    })}`,
  )
  const command = start(['dist/cli/main.js', 'serve', file, '--processes', '2'])
  onTestFinished(() => void command.kill('SIGKILL'))
  const ended = await finished(command)
  expect([ended.code, ended.stdout, errorOf(ended)]).toEqual([
    1,
    '',
    { code: 'processes_failed', message: 'The processes cannot start: the process ended with code 7. See the log.' },
  ])
  expect(ended.stderr.split('process.ended').length - 1).toBe(4)
})
