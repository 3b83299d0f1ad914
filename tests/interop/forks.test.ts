/** Payments in other protocols that fail on one fork of the chain and land on another. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import { codeOf, eventually } from '../harness/shop.ts'
import type { AttackFixture, Pay } from './attack-fixture.ts'
import {
  blindPreflight,
  createAttackFixture,
  feeLamports,
  holdCredential,
  present,
  priceUnits,
} from './attack-fixture.ts'
import { payWithMppx, payWithX402 } from './clients.ts'

let fixture: AttackFixture
beforeAll(async () => {
  // Blocks stay droppable for 13 s.
  fixture = await createAttackFixture(400)
})
afterAll(() => fixture.close())

const outcomes = { spent: 0n, lost: 0n, open: feeLamports }

describe('T200: a payment that failed in a block that is dropped', () => {
  /** On the first fork, another payment takes the money before it. */
  const fail = async (pay: Pay = payWithX402) => {
    const { world } = fixture
    const business = fixture.business()
    const ledger = await business.connect()
    const replica = await business.open({ ledger, watch: true })
    const sent = blindPreflight(fixture, replica)
    const url = `${replica.url}/data`
    const payer = await fixture.payer(priceUnits)
    const other = await world.person()
    const credential = await holdCredential(url, payer, pay)
    const before = world.localnet.slot()
    const signer = payer.signer as Parameters<typeof world.transfer>[0]
    await world.send([await world.transfer(signer, other.address, 'USDC', priceUnits)], signer)
    const response = await present(url, credential)
    const { tx } = (await response.clone().json()) as { tx: string }
    expect(await codeOf(response)).toBe('402 tx_failed')
    const drop = () => expect(world.localnet.rollback(world.localnet.slot() - before + 1)).toContain(tx)
    return { world, business, ledger, url, payer, credential, sent, tx, drop }
  }

  it.each([
    ['x402', payWithX402],
    ['MPP', payWithMppx],
  ] as const)('is sent again and served when its client repeats the credential: %s', async (_name, pay) => {
    const { business, ledger, url, credential, drop } = await fail(pay)
    expect(await ledger.submissions.sums(0)).toEqual(outcomes)
    drop()
    expect((await present(url, credential)).status).toBe(200)
    expect(business.served).toEqual(['/data'])
    expect(await ledger.submissions.sums(0)).toEqual({ spent: feeLamports, lost: 0n, open: 0n })
    expect(await codeOf(await present(url, credential))).toBe('409 payment_replay')
    expect(await business.paid()).toBe(feeLamports)
  })

  it('is unclaimed in the books, and closed as landed, if it lands on the other fork by itself', async () => {
    const { world, ledger, url, credential, sent, tx, drop } = await fail()
    drop()
    await world.rpc('sendTransaction', [sent[0], { encoding: 'base64', skipPreflight: true }])
    const find = () => ledger.books.findPayment(decodeSignature(tx) ?? new Uint8Array())
    const payment = await eventually(find, (found) => found !== undefined)
    expect(payment).toMatchObject({ status: 'pending', state: 'unclaimed', endpoint: '/data', units: priceUnits })
    world.localnet.advance(20, 1)
    await eventually(
      () => ledger.submissions.sums(0),
      ({ open }) => open === 0n,
      1_000,
    )
    expect(await ledger.submissions.sums(0)).toEqual({ spent: feeLamports, lost: 0n, open: 0n })
    expect((await present(url, credential)).status).toBe(200)
  })

  it('blocks the next payment of its wallet until the failure is final, and then counts as lost', async () => {
    const { world, business, ledger, url, payer, credential } = await fail()
    await world.localnet.fund(payer.signer.address, { USDC: priceUnits })
    const next = await holdCredential(url, payer)
    expect(await codeOf(await present(url, next))).toBe('429 rate_limited')
    world.localnet.advance(20, 40)
    await eventually(
      () => ledger.submissions.sums(0),
      ({ open }) => open === 0n,
      1_000,
    )
    expect(await ledger.submissions.sums(0)).toEqual({ spent: 0n, lost: feeLamports, open: 0n })
    expect(await codeOf(await present(url, credential))).toBe('402 tx_failed')
    expect((await present(url, await holdCredential(url, payer))).status).toBe(200)
    expect(business.served).toEqual(['/data'])
  })
})
