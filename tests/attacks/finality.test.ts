/** What the chain has not made up its mind about yet, and what it takes back. Slots pass only when a test says so. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeSignature } from '../../src/core/base58.ts'
import { type Bench, createBench, price, type Till } from '../harness/heist.ts'
import { post, signMessage } from '../harness/message.ts'
import { move } from '../harness/mint.ts'
import { memo, type World } from '../harness/world.ts'

const aDayMs = 86_400_000

let bench: Bench
let world: World
let till: Till
let payer: KeyPairSigner

beforeAll(async () => {
  bench = await createBench({ slotMs: aDayMs })
  world = bench.world
  till = await bench.open()
  payer = await world.person()
})
afterAll(() => bench.close())

const nextSlot = () => world.localnet.advance(0, 1)

/** A payment that is signed and not sent. */
async function signed() {
  const challenge = await till.challenge()
  const plan = [memo(challenge.requestId), await move(world, world.usdc, payer, world.recipient.address, price)]
  const transaction = await signMessage(world, plan, payer)
  return { transaction, attempt: { tx: transaction.signature, challenge, payer } }
}

async function statusOf(tx: string): Promise<string | undefined> {
  const { value } = await world.rpc<{ value: ({ confirmationStatus: string } | null)[] }>('getSignatureStatuses', [
    [tx],
  ])
  return value[0]?.confirmationStatus
}

describe('a payment that only some have seen', () => {
  it('T61: processed, which is not enough, until it is confirmed', async () => {
    const { transaction, attempt } = await signed()
    await post(world, transaction)
    expect(await statusOf(attempt.tx)).toBe('processed')
    const outcome = await till.refuses('tx_not_found', attempt)
    expect(outcome.headers.get('retry-after')).toBe('1')
    nextSlot()
    expect(await statusOf(attempt.tx)).toBe('confirmed')
    await till.serves(attempt)
  })

  it('T61: processed while a proof is already waiting for it', async () => {
    const patient = await bench.open({ waitSeconds: 5 })
    const { transaction, attempt } = await signed()
    await post(world, transaction)
    const waiting = patient.present(attempt)
    await new Promise((resolve) => setTimeout(resolve, 40))
    nextSlot()
    expect(await waiting).toMatchObject({ status: 200 })
  })

  it('T+: signed and never sent', async () => {
    const { attempt } = await signed()
    await till.refuses('tx_not_found', attempt)
  })
})

describe('a payment on a fork that is dropped', () => {
  it('T62: after it was claimed: it is used, and stays so when it lands again', async () => {
    const { transaction, attempt } = await signed()
    await post(world, transaction)
    nextSlot()
    await till.serves(attempt)
    expect(world.localnet.rollback(2)).toContain(attempt.tx)
    expect(await statusOf(attempt.tx)).toBeUndefined()
    await till.refuses('payment_replay', attempt)
    await post(world, transaction)
    nextSlot()
    expect(await statusOf(attempt.tx)).toBe('confirmed')
    await till.refuses('payment_replay', attempt)
    expect(await bench.ledger.peek(decodeSignature(attempt.tx) as Uint8Array)).toMatchObject({ state: 'spent' })
  })

  it('T62: before it was claimed: it is not there, until it lands again', async () => {
    const { transaction, attempt } = await signed()
    await post(world, transaction)
    nextSlot()
    expect(await statusOf(attempt.tx)).toBe('confirmed')
    expect(world.localnet.rollback(2)).toContain(attempt.tx)
    await till.refuses('tx_not_found', attempt)
    await post(world, transaction)
    nextSlot()
    await till.serves(attempt)
  })

  it('T62: and on the other fork the money was spent elsewhere', async () => {
    const pauper = await world.person()
    const all = 1_000_000_000n
    const challenge = await till.challenge()
    const pay = [memo(challenge.requestId), await move(world, world.usdc, pauper, world.recipient.address, price)]
    const elsewhere = [await move(world, world.usdc, pauper, payer.address, all)]
    const [paying, emptying] = [await signMessage(world, pay, pauper), await signMessage(world, elsewhere, pauper)]
    const attempt = { tx: await post(world, paying), challenge, payer: pauper }
    nextSlot()
    expect(await statusOf(attempt.tx)).toBe('confirmed')
    world.localnet.rollback(2)
    await post(world, emptying)
    await post(world, paying)
    nextSlot()
    await till.refuses('tx_failed', attempt)
  })
})
