/**
 * Payments read ahead of their proofs. However the nodes behave, nobody is served who has not paid, and who has paid is
 * served: the watcher only makes it sooner.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { readKeyring } from '../../src/core/protocol/keyring.ts'
import { openLedger } from '../../src/ledger/open.ts'
import type { PaywallEvent } from '../../src/paywall/config/events.ts'
import { type LocalnetFixture, memo, proofOf } from '../harness/localnet-fixture.ts'
import { move } from '../harness/mint.ts'
import { deployScriptedProgram } from '../harness/scripted-program.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture, txOf } from '../harness/shop-fixture.ts'

let fixture: ShopFixture
let world: LocalnetFixture
beforeAll(async () => {
  fixture = await createShopFixture()
  world = fixture.world
})
afterEach(() => world.localnet.faults.clear())
afterAll(() => fixture.close())

let services = 0
/** A shop with a watcher of its own. */
async function openWatching(options: Parameters<ShopFixture['open']>[0] = {}): Promise<Shop> {
  services += 1
  const shop = await fixture.open({ watch: true, service: `watching-${services}`, waitSeconds: 5, ...options })
  return shop
}
const seenBy = ({ events }: Shop, tx: string) => events.find((event) => event.kind === 'seen' && event.tx === tx)

/** How often a node is asked for a transaction while `work` runs. */
async function readsDuring(work: () => Promise<void>): Promise<number> {
  let reads = 0
  world.localnet.faults.intercept((method, _params, answer) => {
    if (method === 'getTransaction') reads += 1
    return answer
  })
  await work()
  world.localnet.faults.clear()
  return reads
}

describe('while the WebSocket tells', () => {
  it('a payment is seen before its proof, which then needs no node', async () => {
    const shop = await openWatching()
    const proof = await shop.buy(fixture.payer)
    const event = await eventually(
      () => seenBy(shop, txOf(proof)),
      (seen) => seen !== undefined,
    )
    expect(event).toMatchObject({ amount: '0.01', token: 'USDC', recipient: world.recipient.address })
    expect(event).toMatchObject({ requestId: /requestId=([^;]+)/.exec(proof)?.[1] })
    expect(await readsDuring(() => expectServed(shop.claim(proof)))).toBe(0)
    await expectRefused(shop.claim(proof), 'payment_replay')
  })

  it('a proof that is sooner than its payment is served as soon as it lands', async () => {
    const shop = await openWatching()
    await warmUp(shop)
    const challenge = await shop.challenge()
    const sent = new Promise<string>((resolve) => {
      world.localnet.faults.intercept((method, _params, answer) => {
        if (method === 'sendTransaction' && 'result' in answer) resolve(String(answer.result))
        return answer
      })
    })
    world.localnet.faults.add({ methods: ['sendTransaction'], delaySlots: 5 })
    const [claimed] = await Promise.all([
      sent.then((tx) => shop.claim(proofOf(tx, challenge, fixture.payer))),
      world.pay(challenge, fixture.payer),
    ])
    await expectServed(claimed)
  })

  it('a payment in SOL is seen too, and one that is none of ours has no requestId', async () => {
    const shop = await openWatching({ acceptedMints: ['USDC', 'SOL'] })
    const challenge = await shop.challenge()
    const tx = await world.pay(challenge, fixture.payer, 'SOL')
    const gift = await world.send(
      [await world.transfer(fixture.payer, world.recipient.address, 'USDC', 5n)],
      fixture.payer,
    )
    const [paid, given] = await Promise.all(
      [tx, gift].map((one) =>
        eventually(
          () => seenBy(shop, one),
          (seen) => seen !== undefined,
        ),
      ),
    )
    expect(paid).toMatchObject({ token: 'SOL', requestId: challenge.requestId })
    expect(given).toMatchObject({ token: 'USDC', amount: '0.000005' })
    expect(given).not.toHaveProperty('requestId')
    await expectServed(shop.claim(proofOf(tx, challenge, fixture.payer)))
  })

  it('T173: a program on the way neither renames a payment nor hides it behind a payment of its own', async () => {
    const shop = await openWatching()
    const router = await deployScriptedProgram(world)
    await world.localnet.fund(router.vault.address, { USDC: 1n })
    const [own, stolen] = [await shop.challenge(), await shop.challenge()]
    const { address } = world.recipient
    const dust = await move(world, world.usdc, router.vault.address, address, 1n, router.vault as never)
    const tx = await world.send(
      [
        router.act([dust, memo(stolen.requestId)]),
        memo(own.requestId),
        await world.transfer(fixture.payer, address, 'USDC', 10_000n),
      ],
      fixture.payer,
    )
    const event = await eventually(
      () => seenBy(shop, tx),
      (seen) => seen !== undefined,
    )
    expect(event).toMatchObject({ amount: '0.01', requestId: own.requestId })
  })

  it('T70, T167: a transaction that one node reports is read from two before the admission', async () => {
    const fakeNode = await fixture.fakeNode()
    const shop = await openWatching({ rpc: [world.localnet.rpcUrl, fakeNode.url], waitSeconds: 0 })
    const proof = await shop.buy(fixture.payer)
    await eventually(
      () => seenBy(shop, txOf(proof)),
      (seen) => seen !== undefined,
    )
    expect(fakeNode.asked).toContain('getTransaction')
    await expectServed(shop.claim(proof))
    fakeNode.behave(() => ({ status: 500, body: '' }))
    const alone = await shop.buy(fixture.payer)
    await expectRefused(shop.claim(alone), 'chain_unavailable')
  })

  it('T127: a signature that the watcher has not seen costs no read', async () => {
    const shop = await openWatching({ waitSeconds: 0.2 })
    await warmUp(shop)
    const { requestId } = await shop.challenge()
    const reads = await readsDuring(async () => {
      for (let index = 0; index < 4; index += 1) {
        const tx = encodeBase58(new Uint8Array(randomBytes(64)))
        const claim = shop.claim(`tx=${tx}; requestId=${requestId}; payer=${fixture.payer.address}`)
        await expectRefused(claim, 'tx_not_found')
      }
    })
    expect(reads).toBe(0)
  })

  it('T206: an old reading of the watcher refuses no payment for good, also without attempts left', async () => {
    const shop = await openWatching({ waitSeconds: 0.2 })
    world.localnet.faults.intercept((method, _params, answer) => {
      if (method !== 'getTransaction' || !('result' in answer) || !answer.result) return answer
      const result = answer.result as { readonly meta: { readonly preTokenBalances: unknown } }
      return { result: { ...result, meta: { ...result.meta, postTokenBalances: result.meta.preTokenBalances } } }
    })
    const proof = await shop.buy(fixture.payer)
    await eventually(
      () => seenBy(shop, txOf(proof)),
      (seen) => seen !== undefined,
    )
    const headers = { 'X-Forwarded-For': '198.51.100.206' }
    await expectRefused(shop.claim(proof, '/data', { headers }), 'underpaid')
    for (let time = 1; time < 5; time += 1) expect((await shop.claim(proof, '/data', { headers })).status).toBe(403)
    world.localnet.faults.clear()
    await expectRefused(shop.claim(proof, '/data', { headers }), 'rate_limited')
    await expectServed(shop.claim(proof))
  })

  it('T62: tells when the chain can no longer take a payment back', async () => {
    const shop = await openWatching()
    const proof = await shop.buy(fixture.payer)
    await expectServed(shop.claim(proof))
    await eventually(
      () => shop.events.find((event) => event.kind === 'finalized' && event.tx === txOf(proof)),
      (event) => event !== undefined,
      2_000,
    )
  })

  it('tells each listener once, on however many routes it listens', async () => {
    const heard: PaywallEvent[] = []
    const onEvent = (event: PaywallEvent) => void heard.push(event)
    const shop = await openWatching({ onEvent })
    const common = { service: `watching-${services}`, waitSeconds: 5, onEvent }
    await fixture.open({ ...common, watch: true, scope: 'another' })
    const proof = await shop.buy(fixture.payer)
    const seen = () => heard.filter((event) => event.kind === 'seen' && event.tx === txOf(proof))
    await eventually(seen, (events) => events.length > 0)
    await expectServed(shop.claim(proof))
    expect(seen()).toHaveLength(1)
  })

  it('counts observed payments', async () => {
    const shop = await openWatching()
    await warmUp(shop)
    await expectServed(shop.claim(await shop.buy(fixture.payer)))
    const text = await eventually(
      async () => shop.metrics(),
      (now) => now.includes('paystile_payments_seen_total{by="socket"} 1'),
    )
    expect(text).toContain('paystile_watcher_current 1')
    expect(text).toContain('paystile_proofs_total{outcome="admitted"} 1')
    expect(text).toMatch(/paystile_node_calls_total\{node="node 1"\} \d+/)
  })
})

describe('payments that the watcher has not seen', () => {
  it('T56: a payment of long ago is found, which nodes no longer keep at hand', async () => {
    const before = await fixture.open({ service: 'long-ago' })
    const proof = await before.buy(fixture.payer)
    world.localnet.advance(0, 700)
    const shop = await openWatching({ service: 'long-ago', waitSeconds: 0.2 })
    await warmUp(shop)
    await expectServed(shop.claim(proof))
    // It was no news, and nothing to mistrust the WebSocket for.
    expect(await shop.metrics()).toContain('paystile_payments_missed_total 0')
  })

  it('T56: and also for clients that named payments that do not exist, after more attempts', async () => {
    const before = await fixture.open({ service: 'doubted' })
    const proof = await before.buy(fixture.payer)
    world.localnet.advance(0, 700)
    const shop = await openWatching({ service: 'doubted', waitSeconds: 0.2 })
    await warmUp(shop)
    const headers = { 'X-Forwarded-For': '198.51.100.77' }
    const { requestId } = await shop.challenge()
    const tx = encodeBase58(new Uint8Array(randomBytes(64)))
    const bogus = `tx=${tx}; requestId=${requestId}; payer=${fixture.payer.address}`
    await expectRefused(shop.claim(bogus, '/data', { headers }), 'tx_not_found')
    await expectRefused(shop.claim(proof, '/data', { headers }), 'tx_not_found')
    await expectServed(shop.claim(proof, '/data', { headers }))
  })
})

describe('while the WebSocket does not tell', () => {
  it('T77: a node without one is read as usual, and payments are found in its lists', async () => {
    const fakeNode = await fixture.fakeNode()
    fakeNode.withoutSockets()
    const shop = await openWatching({ rpc: fakeNode.url })
    const proof = await shop.buy(fixture.payer)
    await expectServed(shop.claim(proof))
    const unclaimed = await shop.buy(fixture.payer)
    await eventually(
      () => seenBy(shop, txOf(unclaimed)),
      (seen) => seen !== undefined,
    )
  })

  it('T77: one that has fallen silent is found out by the first payment it kept to itself', async () => {
    const shop = await openWatching({ waitSeconds: 0.2 })
    await warmUp(shop)
    world.localnet.faults.silence(true)
    const proof = await shop.buy(fixture.payer)
    await expectServed(shop.claim(proof))
    await eventually(
      () => shop.metrics(),
      (text) => text.includes('paystile_payments_missed_total 1'),
    )
    world.localnet.faults.clear()
    await expectServed(shop.claim(await shop.buy(fixture.payer)))
  })

  it('T77: one that breaks is opened again', async () => {
    const shop = await openWatching()
    await warmUp(shop)
    world.localnet.faults.dropSockets()
    await expectServed(shop.claim(await shop.buy(fixture.payer)))
    await eventually(
      () => shop.metrics(),
      (text) => /paystile_watcher_connections_total [2-9]/.test(text) && text.includes('paystile_watcher_current 1'),
    )
  })
})

describe('while no server runs', () => {
  it('a payment appears after the restart, and can still be claimed', async () => {
    const ledger = join(fixture.directory, 'watched.sqlite')
    const secret = '1:a-secret-that-is-long-enough-for-every-test'
    const [options, path] = [{ ledger, secret, service: 'restarted' }, '/data']
    const first = await openWatching(options)
    await expectServed(first.claim(await first.buy(fixture.payer)))
    await warmUp(first)
    const challenge = await first.challenge(path)
    await first.close()
    const tx = await world.pay(challenge, fixture.payer)
    const events: PaywallEvent[] = []
    const again = await openWatching({ ...options, onEvent: (event) => events.push(event) })
    await eventually(
      () => events.find((event) => event.kind === 'seen' && event.tx === tx),
      (seen) => seen !== undefined,
    )
    expect(await unclaimed(ledger, secret)).toContainEqual(decodeSignature(tx))
    await expectServed(again.claim(proofOf(tx, challenge, fixture.payer)))
    expect(await unclaimed(ledger, secret)).not.toContainEqual(decodeSignature(tx))
    await again.close()
    // What was seen once is not news at the next start.
    const third = await openWatching(options)
    await warmUp(third)
    expect(third.events.filter((event) => event.kind === 'seen' && event.tx === tx)).toEqual([])
  })
})

/** The payments of a ledger that nobody has claimed, as another program would read them. */
async function unclaimed(path: string, secret: string): Promise<readonly Uint8Array[]> {
  const reading = readKeyring(secret)
  if (reading.kind !== 'keyring') throw new Error(reading.why)
  const { fingerprint } = reading.keyring
  const clock = { now: world.localnet.now, monotonic: () => performance.now() }
  const identity = { network: 'localnet', service: 'reader', fingerprint } as const
  const ledger = await openLedger(path, { clock, identity })
  const list = (await ledger.journal?.unclaimed(100)) ?? []
  await ledger.close()
  return list.map(({ tx }) => tx)
}

/** Until the watcher's connection tells of everything. */
async function warmUp(shop: Shop): Promise<void> {
  await eventually(
    () => shop.metrics(),
    (text) => text.includes('paystile_watcher_current 1'),
  )
}
