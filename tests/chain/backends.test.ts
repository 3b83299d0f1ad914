/** T172: what became of a transaction, told by several nodes behind one address, each with a lag of its own. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readFate } from '../../src/chain/send/send.ts'
import type { SignedBytes } from '../../src/core/payouts/outgoing-wallet.ts'
import { atRandom, type Backends, byMethod, createRandom, placeBackends } from '../harness/backends.ts'
import { size } from '../harness/length.ts'
import { honest } from './nodes-fixture.ts'
import { createOffice, type PayoutFixture, signedIn, transfer } from './payout-fixture.ts'

let fixture: PayoutFixture
let owner: string
let serial = 0

beforeAll(async () => {
  fixture = await createOffice()
  const [person = ''] = await fixture.people(1)
  owner = person
  // Long enough that a node can lag.
  fixture.localnet.advanceSlots(600)
})
afterEach(() => fixture.localnet.faults.clear())
afterAll(() => fixture.close())

const sign = async () => {
  serial += 1
  return signedIn(
    await fixture.outgoingWallet.sign({
      mint: fixture.native,
      transfers: [transfer(owner, 1n)],
      memo: `paystile:${serial}`,
    }),
  )
}

/** As the worker and the client ask it. */
function readers() {
  const outgoingWallet = fixture.courierOf([honest])
  const rpc = fixture.rpcOf([honest])
  const genesis = fixture.localnet.genesisHash
  const inBase64 = (signed: SignedBytes) => ({ ...signed, wire: Buffer.from(signed.wire).toString('base64') })
  return [
    { name: 'the worker', outcome: async (signed: SignedBytes) => (await outgoingWallet.readOutcome(signed)).kind },
    {
      name: 'the client',
      outcome: async (signed: SignedBytes) => (await readFate({ rpc, genesis }, inBase64(signed))).kind,
    },
  ]
}

/** Sends it, looks now and then for as long as anybody would, and compares with what the chain says in the end. */
async function follow(backends: Backends, random: () => number): Promise<void> {
  const { localnet } = fixture
  const signed = await sign()
  placeBackends(localnet.faults, backends)
  await fixture.outgoingWallet.send(signed)
  const asking = readers()
  const told = new Map<string, string>()
  for (let slots = 0; slots < 1_200 && told.size < 2; ) {
    for (const { name, outcome } of asking) {
      if (told.has(name)) continue
      const kind = await outcome(signed)
      if (kind === 'expired' || kind === 'landed') told.set(name, kind)
    }
    const step = 1 + Math.floor(random() * 40)
    slots += step
    localnet.advanceSlots(step)
  }
  localnet.faults.clear()
  localnet.advanceSlots(200)
  const held = await fixture.outgoingWallet.read(signed.signature)
  const truth = held === undefined ? 'expired' : 'landed'
  expect(Object.fromEntries(told)).toEqual({ 'the worker': truth, 'the client': truth })
}

it.each([
  ['knows its status, and lands late', { getSignatureStatuses: 110 }, 140],
  ['knows its status and the slot, and lands late', { getSignatureStatuses: 110, getSlot: 110 }, 140],
  ['knows whether its block has expired, and lands late', { isBlockhashValid: 250 }, 140],
  ['gives the block, and lands late', { getLatestBlockhash: 100, getSignatureStatuses: 200 }, 40],
  ['knows its status, and is lost', { getSignatureStatuses: 250 }, undefined],
])('a node that is behind %s: the outcome is reported correctly', async (_name, lags, landing) => {
  const lagOf = (method: string) => (lags as Readonly<Record<string, number>>)[method] ?? 0
  await follow({ lagOf, landing: () => landing }, createRandom(1))
})

describe.each([
  ['by method', byMethod],
  ['at random', atRandom],
])('backends that answer %s', (_name, route) => {
  it.each(Array.from({ length: size(8, 80) }, (_, seed) => seed))(
    'T172: tell what became of it, seed %i',
    async (seed) => {
      const random = createRandom(seed)
      const lags = [0, ...Array.from({ length: 1 + Math.floor(random() * 3) }, () => 40 + Math.floor(random() * 210))]
      const [chance, delay] = [random(), Math.floor(random() * 149)]
      const landing = () => (chance < 0.2 ? undefined : chance < 0.4 ? 1 : delay)
      await follow({ lagOf: route(lags, random), landing }, random)
    },
  )
})
