/** 1K: agents as processes that share a wallet and a journal, and die suddenly. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { initAgentWallet } from '../../src/client/agent-wallet.ts'
import type { FakeNode } from '../harness/fake-node.ts'
import { cells, inFull, itInFull, size } from '../harness/length.ts'
import type { Shop } from '../harness/shop.ts'
import { type Agent, bundleClient, startAgent } from './agent-fixture.ts'
import { type ClientFixture, createClientFixture } from './client-fixture.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
let fixture: ClientFixture
let shop: Shop
let client: string
let purchase = 0

beforeAll(async () => {
  fixture = await createClientFixture()
  shop = await fixture.open({ waitSeconds: 5 })
  client = await bundleClient(join(fixture.directory, 'workshop'))
  const wallet = await initAgentWallet()
  await fixture.world.localnet.fund(wallet.address, { SOL: 10_000_000_000n, USDC: 1_000_000_000n })
})
beforeEach(async () => {
  purchase += 1
  await fixture.received()
})
afterAll(() => fixture.close())

/** The same build at another place, which Node loads as other modules. */
function copyOf(built: string): string {
  const copy = built.replace('index.cjs', 'copy.cjs')
  cpSync(built, copy)
  return copy
}

function start(order: Readonly<Record<string, unknown>> = {}): Agent {
  const urls = [`${shop.url}/data?${purchase}`]
  const whole = { client, urls, rpc: fixture.world.localnet.rpcUrl, timeoutMs: 50_000, ...order }
  return startAgent(fixture.directory, whole)
}

/** A node that stops answering when it is sent a payment: before it has passed it on, or after. */
async function stuckNode(passesOn: boolean): Promise<{ node: FakeNode; stuck: Promise<void> }> {
  const node = await fixture.fakeNode()
  const stuck = new Promise<void>((resolve) => {
    node.behave(async (question, ask) => {
      if (question.method !== 'sendTransaction') return ask()
      if (passesOn) await ask()
      resolve()
      return new Promise(() => {})
    })
  })
  return { node, stuck }
}

it.each(inFull(['paying', 'sent', 'confirmed']))(
  'T159: killed when %s: the next run goes on, and one payment is made',
  async (stopAt) => {
    const first = start({ stopAt })
    await first.said(stopAt)
    await first.kill()
    const lines = await start().ended()
    expect(lines.at(-1)).toBe('got the secret')
    expect(lines[0]).toBe(stopAt === 'paying' ? 'paying' : 'resumed')
    expect(await fixture.received()).toBe(1)
  },
)

const unsure: readonly (readonly [name: string, passesOn: boolean])[] = [
  ['signed and not sent', false],
  ['sent and not known to be', true],
]
it.each(cells(unsure, 2, 1))(
  'T159: killed when %s: the next run goes on, and one payment is made',
  async (_name, passesOn) => {
    const { node, stuck } = await stuckNode(passesOn)
    const first = start({ rpc: node.url })
    await stuck
    await first.kill()
    const lines = await start().ended()
    expect([lines[0], lines.at(-1)]).toEqual(['resumed', 'got the secret'])
    expect(await fixture.received()).toBe(1)
  },
)

it('leaves the payments of a running process alone, and takes them over after its death', async () => {
  const holder = start({ stopAt: 'confirmed' })
  await holder.said('confirmed')
  expect((await start().ended())[0]).toBe('paying')
  expect(await fixture.received()).toBe(2)
  await holder.kill()
  const lines = await start().ended()
  expect([lines[0], lines.at(-1)]).toEqual(['resumed', 'got the secret'])
  expect(await fixture.received()).toBe(0)
})

it('T162: two processes with ten calls each do not exceed one budget', async () => {
  const other = await fixture.open({ waitSeconds: 5, scope: 'budget' })
  const agents = ['a', 'b'].map((name) => {
    const urls = Array.from({ length: 10 }, (_, index) => `${other.url}/data?${name}${index}`)
    return start({ urls, budget: { perHost: { USDC: '0.07' } } })
  })
  const lines = (await Promise.all(agents.map((agent) => agent.ended()))).flat()
  expect(lines.filter((line) => line === 'got the secret')).toHaveLength(7)
  expect(lines.filter((line) => line === 'error budget_exceeded')).toHaveLength(13)
  expect(await fixture.received()).toBe(7)
})

describe('a bundle', () => {
  let bundles = 0
  const bundle = async (requests: number) => {
    bundles += 1
    const other = await fixture.open({ waitSeconds: 5, scope: `bundle-${bundles}`, per: { requests } })
    return (count: number) => Array.from({ length: count }, (_, index) => `${other.url}/data?${index}`)
  }

  it('is bought once by all processes together, and the next when it is used up', async () => {
    const urls = await bundle(4)
    const agents = Array.from({ length: size(2, 3) }, () => start({ urls: urls(3) }))
    const lines = (await Promise.all(agents.map((agent) => agent.ended()))).flat()
    expect(lines.filter((line) => line === 'got the secret')).toHaveLength(3 * agents.length)
    const bundles = agents.length
    expect([lines.filter((line) => line === 'paying').length, await fixture.received()]).toEqual([bundles, bundles])
  })

  itInFull(
    'is bought once by two copies of the client in one process, as of paystile and @paystile/client',
    async () => {
      const urls = await bundle(4)
      const lines = await start({ urls: urls(4), copies: [copyOf(client)] }).ended()
      expect(lines.filter((line) => line === 'got the secret')).toHaveLength(4)
      expect([lines.filter((line) => line === 'paying').length, await fixture.received()]).toEqual([1, 1])
    },
  )

  it.each(inFull(['paying', 'sent']))(
    'whose buyer dies when %s is bought once all the same by those who waited',
    async (stopAt) => {
      const urls = await bundle(5)
      const buyer = start({ urls: urls(1), stopAt })
      await buyer.said(stopAt)
      const others = Array.from({ length: 2 }, () => start({ urls: urls(2) }))
      await new Promise((resolve) => setTimeout(resolve, 50))
      await buyer.kill()
      const lines = (await Promise.all(others.map((agent) => agent.ended()))).flat()
      expect(lines.filter((line) => line === 'got the secret')).toHaveLength(4)
      expect([lines.filter((line) => line === 'paying').length, await fixture.received()]).toEqual([
        stopAt === 'paying' ? 1 : 0,
        1,
      ])
    },
  )

  itInFull('with a slow running buyer is awaited', async () => {
    const urls = await bundle(5)
    const buyer = start({ urls: urls(1), stopAt: 'sent' })
    await buyer.said('sent')
    expect(await start({ urls: urls(1), timeoutMs: 500 }).ended()).toEqual(['error payment_unknown'])
    await buyer.kill()
    const lines = await start({ urls: urls(1) }).ended()
    expect([lines[0], lines.at(-1), await fixture.received()]).toEqual(['resumed', 'got the secret', 1])
  })
})

it('of downloads into one place that begin at once in several processes, one gets it', async () => {
  const directory = join(fixture.directory, 'places')
  mkdirSync(directory)
  const rounds = 40
  // Half of the places have a note of somebody who died.
  for (let round = 0; round < rounds; round += 2)
    writeFileSync(join(directory, `${round}.part.json`), '{"url":"http://localhost/","holder":"999999999:1"}')
  const claimant = fileURLToPath(new URL('./claimant.mjs', import.meta.url))
  const args = [
    claimant,
    join(root, 'dist/client/download/part-file.js'),
    directory,
    String(Date.now() + 1_500),
    String(rounds),
  ]
  const children = Array.from({ length: size(2, 4) }, () =>
    spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  const outputs = await Promise.all(
    children.map(async ({ stdout }) => {
      let text = ''
      for await (const chunk of stdout) {
        text += chunk
        if (text.endsWith('through\n')) break
      }
      return text
    }),
  )
  for (const { stdin } of children) stdin.end()
  await Promise.all(children.map((child) => once(child, 'exit')))
  const got = outputs.flatMap((text) => text.trim().split('\n').slice(0, -1))
  expect(got.sort()).toEqual(Array.from({ length: rounds }, (_, round) => String(round)).sort())
})
