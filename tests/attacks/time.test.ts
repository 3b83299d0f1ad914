/** Payments that are late, early or old, and services that change in between. The chain's clock is moved, not ours. */
import { address, type KeyPairSigner } from '@solana/kit'
import { getCreateAccountInstruction, getInitializeNonceAccountInstruction } from '@solana-program/system'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { startLocalnet } from '../../src/localnet/index.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import type { Handler } from '../harness/adapters.ts'
import {
  type AttackedShop,
  type AttackFixture,
  createAttackFixture,
  expectNothing,
  price,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, memo, newSigner } from '../harness/localnet-fixture.ts'
import { post, signMessage, succeed } from '../harness/message.ts'
import { move } from '../harness/mint.ts'
import { eventually } from '../harness/shop.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'

const keys = {
  first: `1:${'first-secret-'.repeat(4)}`,
  second: `2:${'second-secret-'.repeat(4)}`,
  root: `root:${'root-secret-'.repeat(4)}`,
}
const wallBehindMs = 600_000

let fixture: AttackFixture
let world: LocalnetFixture
let attackedShop: AttackedShop
let payer: KeyPairSigner

beforeAll(async () => {
  // Ten minutes from the machine's own time: whoever asks that one is wrong in every test below.
  fixture = await createAttackFixture({ slotMs: 20, startTime: Date.now() + wallBehindMs })
  world = fixture.world
  attackedShop = await fixture.open()
  payer = await world.person()
})
afterAll(() => fixture.close())

const pays = (challenge: Challenge) => transferFor(challenge).then((plan) => succeed(world, plan, payer))
const transferFor = async ({ requestId, recipient }: Challenge) => [
  memo(requestId),
  await move(world, world.usdc, payer, recipient, price),
]
const expiryOf = ({ expiresAt = '' }: Challenge) => Date.parse(expiresAt)
const standing = (tx: string) => fixture.ledger.peek(decodeSignature(tx) as Uint8Array)

/** Opens a shop and waits until its clock is the chain's: it may share one with a shop that is still behind. */
async function open(options: Partial<ProviderOptions>, handler?: Handler): Promise<AttackedShop> {
  const shop = await fixture.open(options, handler)
  await settle(shop, options.challengeTtlSeconds)
  return shop
}

async function settle(shop: AttackedShop, ttlSeconds = 300): Promise<void> {
  await eventually(
    () => shop.challenge(),
    (challenge) => expiryOf(challenge) >= world.localnet.now() + ttlSeconds * 1000 - 3_000,
  )
}

/** Moves the chain's clock on, and waits until the shops have noticed. */
async function pass(seconds: number): Promise<void> {
  world.localnet.advance(seconds, 1)
  await settle(attackedShop)
}

/** Moves the clock to so many seconds after the challenge expires. */
const passExpiry = (challenge: Challenge, seconds: number) =>
  pass((expiryOf(challenge) - world.localnet.now()) / 1000 + seconds)

describe('the time of the payment', () => {
  it('T60: is the chain’s, though the machine’s clock is ten minutes off', async () => {
    const challenge = await attackedShop.challenge()
    expect(expiryOf(challenge) - Date.now()).toBeGreaterThan(wallBehindMs)
    await attackedShop.serves({ tx: await pays(challenge), challenge, payer })
  })

  it('T56: in time, and claimed an hour after the challenge expired', async () => {
    const challenge = await attackedShop.challenge()
    const tx = await pays(challenge)
    await passExpiry(challenge, 3_600)
    await attackedShop.serves({ tx, challenge, payer })
  })

  it('T57: up to a minute after the expiry counts as in time, since clocks differ', async () => {
    const challenge = await attackedShop.challenge()
    await passExpiry(challenge, 50)
    await attackedShop.serves({ tx: await pays(challenge), challenge, payer })
  })

  it('T57: later than that is too late: no access, and a row for the refund', async () => {
    const challenge = await attackedShop.challenge()
    await passExpiry(challenge, 65)
    const tx = await pays(challenge)
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const outcome = await attackedShop.present({ tx, challenge, payer })
      expect(outcome).toMatchObject({ status: 403, code: 'payment_expired', body: { retryable: false } })
      expect(await standing(tx)).toMatchObject({ state: 'late', received: price })
    }
  })

  it('T57: too late for one request does not spoil it for another that was asked in time', async () => {
    const old = await attackedShop.challenge()
    await passExpiry(old, 65)
    const fresh = await attackedShop.challenge()
    const plan = [memo(old.requestId), ...(await transferFor(fresh))]
    const tx = await succeed(world, plan, payer)
    expect(await attackedShop.present({ tx, challenge: old, payer })).toMatchObject({
      status: 403,
      code: 'payment_expired',
    })
    await attackedShop.serves({ tx, challenge: fresh, payer })
    await attackedShop.refuses('payment_replay', { tx, challenge: old, payer })
    await attackedShop.refuses('payment_replay', { tx, challenge: fresh, payer })
  })

  it('T42: of a transaction that lives by a nonce is when it lands, not when it was signed', async () => {
    const account = await newSigner()
    const programAddress = address('11111111111111111111111111111111')
    const opening = { payer, newAccount: account, lamports: 2_000_000n, space: 80, programAddress }
    const owner = { nonceAccount: account.address, nonceAuthority: payer.address }
    await succeed(world, [getCreateAccountInstruction(opening), getInitializeNonceAccountInstruction(owner)], payer)
    const stored = world.localnet.getAccount(account.address)?.data ?? new Uint8Array()
    const nonce = { account: account.address, authority: payer, value: encodeBase58(stored.subarray(40, 72)) }
    const challenge = await attackedShop.challenge()
    const signed = await signMessage(world, await transferFor(challenge), payer, { nonce })
    await passExpiry(challenge, 120)
    const tx = await post(world, signed)
    world.localnet.advance(0, 1)
    expect(await attackedShop.present({ tx, challenge, payer })).toMatchObject({ status: 403, code: 'payment_expired' })
    expect(await standing(tx)).toMatchObject({ state: 'late' })
  })

  it('T59: may look earlier than the challenge, as when another replica’s clock runs ten minutes ahead', async () => {
    const ahead = await startLocalnet({ slotMs: 20, startTime: world.localnet.now() + 600_000 })
    const shared = { secret: keys.first, scope: 'replicas' }
    const replica = await open(shared)
    const rival = await fixture.open({ ...shared, rpc: ahead.rpcUrl })
    const challenge = await rival.challenge()
    await replica.serves({ tx: await pays(challenge), challenge, payer })
    await rival.close()
    await ahead.close()
  })
})

describe('a block without a time', () => {
  const forget = (...methods: readonly string[]) =>
    world.localnet.faults.intercept((method, _params, answer) => {
      if (!methods.includes(method) || !('result' in answer)) return answer
      if (method === 'getBlockTime') return { result: null }
      return { result: answer.result && { ...(answer.result as object), blockTime: null } }
    })

  it('T58: is asked for by its slot', async () => {
    const attempt = await fixture.commit(attackedShop, payer, [
      await move(world, world.usdc, payer, world.recipient.address, price),
    ])
    forget('getTransaction')
    await attackedShop.serves(attempt)
    world.localnet.faults.clear()
  })

  it('T58: without a known block time is neither granted nor refused', async () => {
    const attempt = await fixture.commit(attackedShop, payer, [
      await move(world, world.usdc, payer, world.recipient.address, price),
    ])
    forget('getTransaction', 'getBlockTime')
    await attackedShop.refuses('chain_unavailable', attempt)
    world.localnet.faults.clear()
    await attackedShop.serves(attempt)
  })
})

describe('the end of the time in which a payment can be claimed', () => {
  const short = { challengeTtlSeconds: 120, proofTtlSeconds: 600 }

  it('T56: ends for a payment made in time and never claimed', async () => {
    const shop = await open({ ...short, scope: 'claims' })
    const challenge = await shop.challenge()
    const tx = await pays(challenge)
    await passExpiry(challenge, 640)
    await shop.serves({ tx, challenge, payer })
    const [later, other] = [await shop.challenge(), await shop.challenge()]
    const unclaimed = await pays(later)
    await passExpiry(later, 670)
    await shop.refuses('payment_expired', { tx: unclaimed, challenge: later, payer })
    await shop.refuses('payment_expired', { tx: unclaimed, challenge: other, payer })
  })

  it('T64: is in the requestId, so a ledger that forgot the payment does not sell it again', async () => {
    const clock = { now: world.localnet.now, monotonic: () => performance.now() }
    const shop = await open({ ...short, scope: 'forgetful', secret: keys.first })
    const challenge = await shop.challenge()
    const attempt = { tx: await pays(challenge), challenge, payer }
    await shop.serves(attempt)
    await passExpiry(challenge, 670)
    const forgetful = await open({
      ...short,
      scope: 'forgetful',
      secret: keys.first,
      ledger: createReferenceLedger({ clock }),
    })
    expect(await forgetful.present(attempt)).toMatchObject({ status: 403, code: 'payment_expired' })
  })
})

describe('a service that changes while a challenge is open', () => {
  it('T65: the key is rotated, and challenges of the former key are still good', async () => {
    const before = await open({ secret: `${keys.first},${keys.root}`, scope: 'rotation' })
    const challenge = await before.challenge()
    const tx = await pays(challenge)
    const after = await open({ secret: `${keys.second},${keys.first},${keys.root}`, scope: 'rotation' })
    await after.serves({ tx, challenge, payer })
    await before.refuses('payment_replay', { tx, challenge, payer })
  })

  it('T65: the former key is gone, and only payments that the ledger knows are still good', async () => {
    let broken = true
    const handler = () => (broken ? { status: 500 } : { body: 'the secret' })
    const before = await open({ secret: `${keys.first},${keys.root}`, scope: 'retired' }, handler)
    const after = await open({ secret: `${keys.second},${keys.root}`, scope: 'retired' }, handler)
    const [known, unknown] = [await before.challenge(), await before.challenge()]
    const [paid, unclaimed] = [await pays(known), await pays(unknown)]
    expect((await before.present({ tx: paid, challenge: known, payer })).status).toBe(500)
    broken = false
    await after.refuses('unknown_request', { tx: unclaimed, challenge: unknown, payer })
    // A known payment does not lend its standing to another requestId of the lost key.
    await after.refuses('unknown_request', { tx: paid, challenge: unknown, payer })
    await after.serves({ tx: paid, challenge: known, payer })
    await before.serves({ tx: unclaimed, challenge: unknown, payer })
  })

  it('T65: the former key is gone, and a late payment is no better for it', async () => {
    const before = await open({ secret: `${keys.first},${keys.root}`, scope: 'late' })
    const after = await open({ secret: `${keys.second},${keys.root}`, scope: 'late' })
    const challenge = await before.challenge()
    await passExpiry(challenge, 65)
    const attempt = { tx: await pays(challenge), challenge, payer }
    expect(await before.present(attempt)).toMatchObject({ status: 403, code: 'payment_expired' })
    await after.refuses('unknown_request', attempt)
  })

  it('T65: a key that never was', async () => {
    const shop = await open({ secret: keys.first, scope: 'forgery' })
    const forger = await open({ secret: `1:${'guessed-secret-'.repeat(4)}`, scope: 'forgery' })
    const challenge = await forger.challenge()
    await shop.refuses('unknown_request', { tx: await pays(challenge), challenge, payer })
  })

  it('T66: the price rises, and the old quote is honoured', async () => {
    const cheap = await open({ secret: keys.first, scope: 'prices' })
    const challenge = await cheap.challenge()
    const dear = await open({ secret: keys.first, scope: 'prices', price: '0.5' })
    await dear.serves({ tx: await pays(challenge), challenge, payer })
    const fresh = await dear.challenge()
    await expectNothing(dear, 'underpaid', { tx: await pays(fresh), challenge: fresh, payer })
  })

  it('T66: the recipient changes, and payments to the former one are still served', async () => {
    const former = await world.person()
    const shared = { secret: keys.first, scope: 'owners' }
    const old = await open({ ...shared, recipient: former.address })
    const challenge = await old.challenge()
    const retired = { recipients: [former.address] }
    const today = await open({ ...shared, retired })
    await today.serves({ tx: await pays(challenge), challenge, payer })
    const fresh = await today.challenge()
    const away = [memo(fresh.requestId), await move(world, world.usdc, payer, former.address, price)]
    await expectNothing(today, 'wrong_recipient', { tx: await succeed(world, away, payer), challenge: fresh, payer })
  })

  it('T66: a token is no longer accepted, and the old quote is honoured in it', async () => {
    const both = await open({ secret: keys.first, scope: 'tokens', acceptedMints: ['USDC', 'SOL'] })
    const challenge = await both.challenge()
    const dollars = await open({ secret: keys.first, scope: 'tokens' })
    const units = BigInt(Math.round(Number(challenge.amounts?.SOL) * 1e9))
    const pay = await world.transfer(payer, challenge.recipient, 'SOL', units)
    const tx = await succeed(world, [memo(challenge.requestId), pay], payer)
    await dollars.serves({ tx, challenge, payer })
  })
})
