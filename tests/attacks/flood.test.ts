/**
 * Proofs of nothing, by the ten thousand. They cost a node next to nothing, memory stays where it was, and those who have
 * paid are served beside them.
 */
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { size } from '../harness/length.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import { createShopFixture, expectServed, type ShopFixture, txOf } from '../harness/shop-fixture.ts'

const count = size(1_000, 50_000)
const addresses = Array.from({ length: 50 }, (_, index) => `198.51.100.${index + 1}`)
const payers = 20
const callers = 40

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

const agent = new Agent({ keepAlive: true, maxSockets: callers })
afterAll(() => agent.destroy())

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapAfterCollection(): number {
  collect()
  return process.memoryUsage().heapUsed
}

/** The status of the answer. */
function present({ url }: Shop, proof: string, from: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'payment-proof': proof, 'x-forwarded-for': from }
    const call = request(`${url}/data`, { agent, headers }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    })
    call.once('error', reject)
    call.end()
  })
}

it(`T127, T128, T131: ${count} proofs of nothing, beside twenty payers`, async () => {
  const shop = await fixture.open({ watch: true, waitSeconds: 0.2 })
  await eventually(
    () => shop.metrics(),
    (text) => text.includes('paystile_watcher_current 1'),
  )
  const honest = new Set<string>()
  const proofs = await Promise.all(Array.from({ length: payers }, () => shop.buy(fixture.payer)))
  for (const proof of proofs) honest.add(txOf(proof))
  await eventually(
    () => shop.events.filter(({ kind }) => kind === 'seen'),
    (seen) => seen.length === payers,
  )
  /** The first parameters of all readings: a signature, several signatures, or an address. */
  const asked: unknown[] = []
  fixture.world.localnet.faults.intercept((method, params, answer) => {
    const isReading = ['getTransaction', 'getSignatureStatuses', 'getSignaturesForAddress'].includes(method)
    if (isReading) asked.push((params as readonly unknown[])[0])
    return answer
  })
  const challenges = await Promise.all(addresses.map(() => shop.challenge()))
  const statuses = new Map<number, number>()
  let sent = 0
  const cry = async (): Promise<void> => {
    while (sent < count) {
      const index = sent
      sent += 1
      const requestId = challenges[index % challenges.length]?.requestId ?? ''
      // Every second one has a seal that was tampered with.
      const seal = index % 2 === 0 ? requestId : `${requestId.slice(0, -4)}AAAA`
      const tx = encodeBase58(new Uint8Array(randomBytes(64)))
      const proof = `tx=${tx}; requestId=${seal}; payer=${fixture.payer.address}`
      const status = await present(shop, proof, addresses[Math.floor(index / 2) % addresses.length] ?? '')
      statuses.set(status, 1 + (statuses.get(status) ?? 0))
    }
  }
  const before = heapAfterCollection()
  const began = performance.now()
  const flood = Promise.all(Array.from({ length: callers }, cry))
  for (const proof of proofs) await expectServed(shop.claim(proof))
  // And some whose payment comes only now.
  for (let index = 0; index < 5; index += 1) {
    const proof = await shop.buy(fixture.payer)
    honest.add(txOf(proof))
    await expectServed(shop.claim(proof))
  }
  await flood
  fixture.world.localnet.faults.clear()
  expect([...statuses.keys()].sort()).toEqual([403, 429])
  expect([...statuses.values()].reduce((sum, part) => sum + part, 0)).toBe(count)
  // Lists and batches come once in so many seconds, however many proofs there are. The payers also ask for their own.
  const reads = asked.filter((one) => !honest.has(String(one))).length
  expect(reads).toBeLessThanOrEqual(40 + (2 * (performance.now() - began)) / 1000)
  // The test's own notes among it: an event for each refusal.
  shop.events.length = 0
  expect((heapAfterCollection() - before) / 1_000_000).toBeLessThan(15)
})
