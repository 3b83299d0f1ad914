/** What the chain has not made up its mind about yet, and what it takes back. Slots pass only when a test says so. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createChain } from '../../src/chain/read/chain.ts'
import { fetchTransport } from '../../src/chain/rpc/fetch-transport.ts'
import { createRpc } from '../../src/chain/rpc/rpc.ts'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import { createMeter } from '../../src/core/observability/metrics.ts'
import type { Journal } from '../../src/core/ports/journal.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { startFinality } from '../../src/workers/finality.ts'
import { type AttackedShop, type AttackFixture, createAttackFixture, price } from '../harness/attacker-program.ts'
import { type LocalnetFixture, memo } from '../harness/localnet-fixture.ts'
import { post, signMessage } from '../harness/message.ts'
import { move } from '../harness/mint.ts'
import { eventually } from '../harness/shop.ts'

const aDayMs = 86_400_000

let fixture: AttackFixture
let world: LocalnetFixture
let shop: AttackedShop
let payer: KeyPairSigner

beforeAll(async () => {
  fixture = await createAttackFixture({ slotMs: aDayMs })
  world = fixture.world
  shop = await fixture.open()
  payer = await world.person()
})
afterAll(() => fixture.close())

const nextSlot = () => world.localnet.advance(0, 1)
/** After these slots a confirmed payment is final. */
const untilFinal = () => world.localnet.advance(0, 33)
/** After these its blockhash is forgotten. */
const untilForgotten = () => world.localnet.advance(0, 600)
const bytesOf = (tx: string) => decodeSignature(tx) as Uint8Array

/** A payment that is signed and not sent. */
async function signed(at = shop) {
  const challenge = await at.challenge()
  const plan = [memo(challenge.requestId), await move(world, world.usdc, payer, world.recipient.address, price)]
  const transaction = await signMessage(world, plan, payer)
  return { transaction, attempt: { tx: transaction.signature, challenge, payer } }
}

async function confirmed(at = shop) {
  const payment = await signed(at)
  await post(world, payment.transaction)
  nextSlot()
  return payment
}

/** The worker that every service runs now and then, looking at once. */
async function conclude(): Promise<void> {
  const rpc = createRpc({ urls: [world.localnet.rpcUrl], transport: fetchTransport })
  const clock = { now: world.localnet.now, monotonic: () => performance.now() }
  const quiet = () => {}
  const log = { info: quiet, warn: quiet, error: quiet }
  const chain = createChain({ rpc, verifier: createVerifier(), clock, log })
  const journal = fixture.ledger.journal as Journal
  const worker = startFinality({ journal, chain, log, meter: createMeter(), onConcluded: quiet })
  await worker.run()
  await worker.stop()
  await chain.close()
}

/** What the ledger says of a payment after the worker has looked. */
async function fateOf({ tx }: { readonly tx: string }): Promise<string> {
  await conclude()
  const unfinal = await fixture.ledger.journal?.unfinal(10_000)
  if (unfinal?.some((open) => Buffer.from(open.tx).equals(bytesOf(tx)))) return 'open'
  return (await fixture.ledger.peek(bytesOf(tx)))?.state === 'reverted' ? 'reverted' : 'finalized'
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
    const outcome = await shop.refuses('tx_not_found', attempt)
    expect(outcome.headers.get('retry-after')).toBe('1')
    nextSlot()
    expect(await statusOf(attempt.tx)).toBe('confirmed')
    await shop.serves(attempt)
  })

  it('T61: processed while a proof is already waiting for it', async () => {
    const patient = await fixture.open({ waitSeconds: 5 })
    const { transaction, attempt } = await signed()
    await post(world, transaction)
    const waiting = patient.present(attempt)
    await new Promise((resolve) => setTimeout(resolve, 40))
    nextSlot()
    expect(await waiting).toMatchObject({ status: 200 })
  })

  it('T+: signed and never sent', async () => {
    const { attempt } = await signed()
    await shop.refuses('tx_not_found', attempt)
  })
})

describe('a payment on a fork that is dropped', () => {
  it('T62: after it was claimed: it is used, and stays so when it lands again', async () => {
    const { transaction, attempt } = await signed()
    await post(world, transaction)
    nextSlot()
    await shop.serves(attempt)
    expect(world.localnet.rollback(2)).toContain(attempt.tx)
    expect(await statusOf(attempt.tx)).toBeUndefined()
    await shop.refuses('payment_replay', attempt)
    await post(world, transaction)
    nextSlot()
    expect(await statusOf(attempt.tx)).toBe('confirmed')
    await shop.refuses('payment_replay', attempt)
    expect(await fixture.ledger.peek(decodeSignature(attempt.tx) as Uint8Array)).toMatchObject({ state: 'spent' })
  })

  it('T62: before it was claimed: it is not there, until it lands again', async () => {
    const { transaction, attempt } = await signed()
    await post(world, transaction)
    nextSlot()
    expect(await statusOf(attempt.tx)).toBe('confirmed')
    expect(world.localnet.rollback(2)).toContain(attempt.tx)
    await shop.refuses('tx_not_found', attempt)
    await post(world, transaction)
    nextSlot()
    await shop.serves(attempt)
  })

  it('T62: and on the other fork the money was spent elsewhere', async () => {
    const pauper = await world.person()
    const all = 1_000_000_000n
    const challenge = await shop.challenge()
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
    await shop.refuses('tx_failed', attempt)
  })
})

describe('a payment that was taken back and lands again', () => {
  it('T62: is worth its unused rest once it is final', async () => {
    let isBroken = true
    const frail = await fixture.open({ scope: 'frail' }, () => ({ body: 'the secret', throws: isBroken }))
    const { attempt } = await confirmed(frail)
    expect(await frail.present(attempt)).toMatchObject({ status: 502, code: 'handler_failed' })
    isBroken = false
    // As if the worker had found it gone.
    await fixture.ledger.journal?.conclude([{ tx: bytesOf(attempt.tx), finality: 'reverted' }])
    await frail.refuses('tx_not_final', attempt)
    untilFinal()
    await frail.serves(attempt)
    await frail.refuses('payment_replay', attempt)
  })

  it('T62: is not refused for good when it is taken back in the middle of a claim', async () => {
    let isBroken = true
    const { ledger } = fixture
    const sudden: Ledger = {
      ...ledger,
      peek: async (tx) => {
        const standing = await ledger.peek(tx)
        await ledger.journal?.conclude([{ tx, finality: 'reverted' }])
        return standing
      },
    }
    const race = await fixture.open({ scope: 'race', ledger: sudden }, () => ({ body: 'the secret', throws: isBroken }))
    const { attempt } = await confirmed(race)
    expect(await race.present(attempt)).toMatchObject({ status: 502 })
    isBroken = false
    expect(await race.present(attempt)).toMatchObject({ code: 'tx_not_final', body: { retryable: true } })
  })

  it('T62: is used, if it was used before', async () => {
    const { attempt } = await confirmed()
    await shop.serves(attempt)
    await fixture.ledger.journal?.conclude([{ tx: bytesOf(attempt.tx), finality: 'reverted' }])
    untilFinal()
    expect(await shop.present(attempt)).toMatchObject({ status: 409, code: 'payment_replay' })
    expect(await fixture.ledger.peek(bytesOf(attempt.tx))).toMatchObject({ state: 'spent' })
  })
})

describe('a price from which on a payment must be final', () => {
  it.each<[string, string]>([
    ['T63: the price itself', '0.01'],
    ['T63: less than the price', '0.001'],
    ['T63: nothing, which means every price', '0'],
  ])('%s', async (_name, finalizedFrom) => {
    const careful = await fixture.open({ finalizedFrom })
    const { attempt } = await confirmed()
    const outcome = await careful.refuses('tx_not_final', attempt)
    expect(outcome.headers.get('retry-after')).toBe('5')
    untilFinal()
    await careful.serves(attempt)
    expect((await fixture.ledger.journal?.unfinal(1_000))?.map(({ tx }) => tx)).not.toContainEqual(bytesOf(attempt.tx))
  })

  it('T63: more than the price leaves it at confirmed', async () => {
    const careful = await fixture.open({ finalizedFrom: 0.010001 })
    await careful.serves((await confirmed()).attempt)
  })

  it('T63: 1 USDC where nothing is said', async () => {
    const dear = await fixture.open({ price: 1, scope: 'dear' })
    const attempt = await fixture.commit(dear, payer, async () => [
      await move(world, world.usdc, payer, world.recipient.address, 1_000_000n),
    ])
    await dear.refuses('tx_not_final', attempt)
    untilFinal()
    await dear.serves(attempt)
  })

  it('T63: a payment that is waited for becomes final meanwhile', async () => {
    const patient = await fixture.open({ finalizedFrom: 0, waitSeconds: 5 })
    const { attempt } = await confirmed()
    const waiting = patient.present(attempt)
    await new Promise((resolve) => setTimeout(resolve, 40))
    untilFinal()
    expect(await waiting).toMatchObject({ status: 200 })
  })
})

describe('limits for payments that are not final', () => {
  it.each<[string, { readonly recipient?: number; readonly payer?: number } | number]>([
    ['by one recipient', 0.025],
    ['by one recipient, written out', { recipient: 0.025 }],
    ['of one payer', { payer: 0.025 }],
  ])('T63: is limited %s', async (_name, maxUnfinalized) => {
    untilFinal()
    await conclude()
    // A service of its own, which has not yet asked for the sum.
    const capped = await fixture.open({ maxUnfinalized, service: JSON.stringify(maxUnfinalized) })
    // Until the sum is known every payment must be final.
    const first = (await confirmed(capped)).attempt
    await eventually(
      () => capped.present(first),
      ({ status }) => status === 200,
    )
    await capped.serves((await confirmed(capped)).attempt)
    const { attempt } = await confirmed(capped)
    await capped.refuses('tx_not_final', attempt)
    untilFinal()
    await capped.serves(attempt)
    await conclude()
    await eventually(
      async () => capped.present((await confirmed(capped)).attempt),
      ({ status }) => status === 200,
    )
  })
})

/** A shop with a slow database and a limit that has room for one more payment. */
async function openCapped(scope: string) {
  const { ledger } = fixture
  const slow: Ledger = {
    ...ledger,
    take: (order) => new Promise((resolve) => setTimeout(() => resolve(ledger.take(order)), 50)),
  }
  const capped = await fixture.open({ maxUnfinalized: 0.025, scope, ledger: slow })
  const first = (await confirmed(capped)).attempt
  await eventually(
    () => capped.present(first),
    ({ status }) => status === 200,
  )
  return capped
}

it('T212: proofs at the same moment do not exceed the limit for payments that are not final', async () => {
  untilFinal()
  await conclude()
  const capped = await openCapped('parallel')
  const others = await Promise.all(Array.from({ length: 8 }, () => signed(capped)))
  for (const { transaction } of others) await post(world, transaction)
  nextSlot()
  const outcomes = await Promise.all(others.map(({ attempt }) => capped.present(attempt)))
  expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(outcomes.filter(({ code }) => code === 'tx_not_final')).toHaveLength(7)
})

it('T212: a proof sent many times at the same moment counts once against the limit', async () => {
  untilFinal()
  await conclude()
  const capped = await openCapped('copies')
  const { transaction, attempt } = await signed(capped)
  await post(world, transaction)
  nextSlot()
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => capped.present(attempt)))
  expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(outcomes.filter(({ status }) => status === 409)).toHaveLength(7)
})

describe('the worker that follows payments to their end', () => {
  it('T62: lets a payment rest when it is final', async () => {
    const { attempt } = await confirmed()
    await shop.serves(attempt)
    expect(await fateOf(attempt)).toBe('open')
    untilFinal()
    expect(await fateOf(attempt)).toBe('finalized')
  })

  it('T62: knows that a payment was taken back when it can no longer come, and not before', async () => {
    const { attempt } = await confirmed()
    await shop.serves(attempt)
    expect(world.localnet.rollback(2)).toContain(attempt.tx)
    untilFinal()
    expect(await fateOf(attempt)).toBe('open')
    untilForgotten()
    expect(await fateOf(attempt)).toBe('reverted')
    await shop.refuses('tx_not_found', attempt)
  })

  it('T62: counts a payment that failed on the fork that stayed as taken back', async () => {
    const pauper = await world.person()
    const challenge = await shop.challenge()
    const pay = [memo(challenge.requestId), await move(world, world.usdc, pauper, world.recipient.address, price)]
    const elsewhere = [await move(world, world.usdc, pauper, payer.address, 1_000_000_000n)]
    const [paying, emptying] = [await signMessage(world, pay, pauper), await signMessage(world, elsewhere, pauper)]
    const attempt = { tx: await post(world, paying), challenge, payer: pauper }
    nextSlot()
    await shop.serves(attempt)
    world.localnet.rollback(2)
    await post(world, emptying)
    await post(world, paying)
    untilFinal()
    expect(await fateOf(attempt)).toBe('reverted')
  })
})
