/** The details of answers to clients of other protocols. */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import type { AttackFixture } from './attack-fixture.ts'
import { createAttackFixture, holdCredential, present } from './attack-fixture.ts'
import { payWithMppx, payWithX402, payWithX402V1 } from './clients.ts'

let fixture: AttackFixture
beforeAll(async () => {
  fixture = await createAttackFixture()
})
afterAll(() => fixture.close())

describe('a fresh challenge says why the credential was refused', () => {
  it.each([
    ['x402', 'payment-signature', 'e30=', 'urn:paystile:problem:proof_malformed'],
    ['x402 v1', 'x-payment', 'e30=', 'urn:paystile:problem:proof_malformed'],
    ['MPP', 'authorization', 'Payment e30', 'https://paymentauth.org/problems/malformed-credential'],
    ['MPP', 'payment-authorization', 'Payment e30', 'https://paymentauth.org/problems/malformed-credential'],
  ])('%s in %s', async (_name, header, value, type) => {
    const { url } = await fixture.business().open()
    const usual = await fetch(`${url}/data`)
    expect(decodePaymentRequiredHeader(usual.headers.get('payment-required') ?? '').error).toBe('Payment required')
    expect(await usual.json()).not.toHaveProperty('type')
    const response = await fetch(`${url}/data`, { headers: { [header]: value } })
    expect(response.status).toBe(402)
    expect(response.headers.has('www-authenticate')).toBe(true)
    expect(decodePaymentRequiredHeader(response.headers.get('payment-required') ?? '').error).toBe('invalid_payload')
    expect(await response.json()).toMatchObject({
      ...{ type, code: 'proof_malformed', detail: expect.stringMatching(/^The header cannot be read: ./) },
      ...{ x402Version: 1, error: 'invalid_payload', requestId: expect.any(String) },
    })
  })
})

it('the receipt of an MPP client names its challenge, and that of an x402 client does not', async () => {
  const { url } = await fixture.business().open({ mpp: { header: 'Payment-Authorization' } })
  const payer = await fixture.payer()
  const read = ({ headers }: Response) => {
    const header = headers.get('payment-receipt') ?? ''
    const { challengeId } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { challengeId?: string }
    return { challengeId, requestId: parseReceipt(header)?.requestId }
  }
  const mpp = read((await payWithMppx(`${url}/data`, payer)).response)
  expect(mpp.requestId).toEqual(expect.any(String))
  expect(mpp.challengeId).toMatch(new RegExp(`^${mpp.requestId}\\.[\\w-]{22}$`))
  expect(read((await payWithX402(`${url}/data`, payer)).response).challengeId).toBeUndefined()
})

it('one wallet buys six times at once with x402 and MPP, at two servers', async () => {
  const business = fixture.business()
  const servers = [await business.open(), await business.open()]
  const payer = await fixture.payer()
  const purchases = [payWithX402, payWithMppx, payWithX402V1, payWithX402, payWithMppx, payWithX402].map((pay, index) =>
    pay(`${servers[index % 2]?.url}/data?${index}`, payer),
  )
  const statuses = (await Promise.all(purchases)).map(({ response }) => response.status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200])
  expect(business.served).toHaveLength(6)
})

it('a second payment of a wallet, while the first is not confirmed, gets 429 after waitSeconds, and may come again', async () => {
  const { faults } = fixture.world.localnet
  const { url } = await fixture.business().open({ waitSeconds: 0.1 })
  const payer = await fixture.payer()
  const credentials = [
    await holdCredential(`${url}/data`, payer),
    await holdCredential(`${url}/data`, payer, payWithX402V1),
  ]
  const [first, second] = credentials
  if (!first || !second) throw new Error('no credentials')
  faults.set([{ methods: ['sendTransaction'], lose: true }])
  expect((await present(`${url}/data`, first)).status).toBe(503)
  faults.clear()
  const response = await present(`${url}/data`, second)
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1'])
})
