/** x402 v1: the unmodified client buys, and its credentials, which name no challenge, buy nothing else. */
import { PaymentRequiredV1Schema } from '@x402/core/schemas'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SettleResponseSchema, x402ResponseSchema } from 'x402/types'
import { decodeXPaymentResponse } from 'x402-fetch'
import { checkPayment } from '../../src/compose/check-payment.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { codeOf } from '../harness/shop.ts'
import type { AttackFixture, HeldCredential, Pay } from './attack-fixture.ts'
import {
  createAttackFixture,
  feeLamports,
  hasChallenge,
  holdCredential,
  present,
  priceUnits,
} from './attack-fixture.ts'
import { payWithMppx, payWithX402, payWithX402V1 } from './clients.ts'

let fixture: AttackFixture
beforeAll(async () => {
  fixture = await createAttackFixture()
})
afterAll(() => fixture.close())

/** The transaction of another credential, presented as x402 v1. */
function toV1(credential: HeldCredential, transaction = transactionIn(credential)): HeldCredential {
  const payload = { x402Version: 1, scheme: 'exact', network: 'solana-devnet', payload: { transaction } }
  return { ...credential, header: 'x-payment', value: Buffer.from(JSON.stringify(payload)).toString('base64') }
}

function transactionIn({ value }: HeldCredential): string {
  const text = Buffer.from(value.replace(/^Payment /, ''), 'base64').toString()
  return (JSON.parse(text) as { payload: { transaction: string } }).payload.transaction
}

async function readBody(url: string, init?: RequestInit): Promise<Record<string, unknown>> {
  return (await (await fetch(url, init)).json()) as Record<string, unknown>
}

describe('an unmodified client of x402 v1', () => {
  it('reads our challenge and our receipt with its own schemas', async () => {
    const business = fixture.business()
    const { url } = await business.open()
    const body = await readBody(`${url}/data`)
    expect(PaymentRequiredV1Schema.safeParse(body).error).toBeUndefined()
    const { error, ...challenge } = body
    expect(error).toBe('X-PAYMENT header is required')
    const { accepts } = x402ResponseSchema.parse(challenge)
    expect(accepts).toMatchObject([
      {
        network: 'solana-devnet',
        maxAmountRequired: '10000',
        resource: `${url}/data`,
        asset: fixture.world.usdc.address,
      },
    ])
    const payer = await fixture.payer()
    const { response, credentials } = await payWithX402V1(`${url}/data`, payer)
    expect([response.status, credentials.length]).toEqual([200, 1])
    const settlement = decodeXPaymentResponse(response.headers.get('x-payment-response') ?? '')
    expect(SettleResponseSchema.parse(settlement)).toMatchObject({
      success: true,
      network: 'solana-devnet',
      payer: payer.signer.address,
    })
    expect(await business.paid()).toBe(feeLamports)
    expect(await fixture.usdc(payer)).toBe(1_000_000n - priceUnits)
  })

  it('buys a request whose body determines the purchase', async () => {
    const business = fixture.business()
    const { url } = await business.open({ bind: { body: true } })
    const init = { method: 'POST', body: 'a question' }
    const { response } = await payWithX402V1(`${url}/data`, await fixture.payer(), init)
    expect(response.status).toBe(200)
  })

  it('buys twice in turn, because each transaction has its own blockhash', async () => {
    const business = fixture.business()
    const { url } = await business.open()
    const payer = await fixture.payer()
    for (let turn = 0; turn < 2; turn += 1)
      expect((await payWithX402V1(`${url}/data`, payer)).response.status).toBe(200)
    expect(await fixture.usdc(payer)).toBe(1_000_000n - 2n * priceUnits)
  })
})

describe('x402 v1 is not offered', () => {
  type Unoffered = readonly [name: string, options: Partial<ProviderOptions>, headers: Record<string, string>]
  const cases: readonly Unoffered[] = [
    ['unless the option is set', { x402: true }, {}],
    ['for bundles', { per: { requests: 5 } }, {}],
    ['for time windows', { per: 'hour' }, {}],
    ['for bytes', { per: 'megabyte' }, {}],
    ['for files', { per: 'megabyte', size: 1000 }, {}],
    ['where proofs must be signed', { proofBinding: 'required' }, {}],
    ['for SOL', { token: 'SOL', price: 0.001 }, {}],
    ['while the sponsor pays no fees', { sponsor: { floor: '2' } }, {}],
    ['for prices below the margin', { price: 0.000001 }, {}],
    ['to paystile’s own client', {}, { 'Payment-Accept': 'claim' }],
  ]
  it.each(cases)('%s', async (_name, options, headers) => {
    const { url } = await fixture.business().open(options)
    const body = await readBody(`${url}/data`, { headers })
    expect(body).toHaveProperty('requestId')
    expect(body).not.toHaveProperty('accepts')
    expect(body).not.toHaveProperty('x402Version')
  })
})

describe('a transaction that names no challenge', () => {
  it('does not buy a dearer route, costs nothing there, and still buys its own', async () => {
    const business = fixture.business()
    const [cheap, dear] = [await business.open(), await business.open({ price: 0.02, endpoint: 'GET /dear' })]
    const credential = await holdCredential(`${cheap.url}/data`, await fixture.payer(), payWithX402V1)
    const response = await present(`${dear.url}/dear`, credential)
    expect([await hasChallenge(response), await codeOf(response)]).toEqual([false, '402 underpaid'])
    expect(await business.paid()).toBe(0n)
    expect((await present(`${cheap.url}/data`, credential)).status).toBe(200)
    expect(business.served).toEqual(['/data'])
  })

  it.each([
    ['with another sponsor', false, 'transaction_invalid'],
    ['with the same sponsor', true, 'wrong_destination'],
  ] as const)('for another seller %s buys nothing', async (_name, isShared, code) => {
    const [business, other] = [fixture.business(), fixture.business()]
    const theirs = await other.open()
    const own = await business.open(isShared ? { sponsor: { key: other.sponsor } } : {})
    const credential = await holdCredential(`${theirs.url}/data`, await fixture.payer(), payWithX402V1)
    const response = await present(`${own.url}/data`, credential)
    expect([await hasChallenge(response), await codeOf(response)]).toEqual([false, `402 ${code}`])
    expect(business.served).toEqual([])
    expect([await business.paid(), await other.paid()]).toEqual([0n, 0n])
  })

  it('costs nothing if its payer has spent the money meanwhile', async () => {
    const business = fixture.business()
    const { url } = await business.open()
    const payer = await fixture.payer(priceUnits)
    const credential = await holdCredential(`${url}/data`, payer, payWithX402V1)
    expect((await payWithX402(`${url}/other`, payer)).response.status).toBe(200)
    const response = await present(`${url}/data`, credential)
    expect([await hasChallenge(response), await codeOf(response)]).toEqual([false, '402 tx_failed'])
    expect([business.served, await business.paid()]).toEqual([['/other'], feeLamports])
  })

  it('is priced when it arrives: a higher price refuses it, a lower one accepts it', async () => {
    const business = fixture.business()
    let price = 0.01
    const { url } = await business.open({ price: () => price })
    const payer = await fixture.payer()
    const credential = await holdCredential(`${url}/data`, payer, payWithX402V1)
    price = 0.011
    expect(await codeOf(await present(`${url}/data`, credential))).toBe('402 underpaid')
    expect([await business.paid(), await fixture.usdc(payer)]).toEqual([0n, 1_000_000n])
    price = 0.009
    expect((await present(`${url}/data`, credential)).status).toBe(200)
    // A price that rises after the service has sent the payment asks for no more.
    price = 0.02
    expect(await codeOf(await present(`${url}/data`, credential))).toBe('409 payment_replay')
  })

  it('pays for one of two equal purchases with the same blockhash', async () => {
    const business = fixture.business()
    const { url } = await business.open()
    const credential = await holdCredential(`${url}/data`, await fixture.payer(), payWithX402V1)
    const targets = ['/data?a=1', '/data?a=2']
    const answers = await Promise.all(targets.map((target) => present(`${url}${target}`, credential)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    for (const target of targets)
      expect(await codeOf(await present(`${url}${target}`, credential))).toBe('409 payment_replay')
    expect(business.served).toHaveLength(1)
    expect(await business.paid()).toBe(feeLamports)
  })

  it('is refused where it could have been sent before: its payer pays the fee', async () => {
    const business = fixture.business()
    const { url } = await business.open({ sponsor: { floor: '2' } })
    const complete = toV1(await holdCredential(`${url}/data`, await fixture.payer(), payWithMppx))
    expect(await codeOf(await present(`${url}/data`, complete))).toBe('402 transaction_invalid')
    const landed = await fixture.world.rpc<string>('sendTransaction', [
      transactionIn(complete),
      { encoding: 'base64', skipPreflight: true },
    ])
    expect(landed).toEqual(expect.any(String))
    expect(await codeOf(await present(`${url}/data`, complete))).toBe('402 transaction_invalid')
    expect(business.served).toEqual([])
  })

  const others: readonly (readonly [name: string, pay: Pay])[] = [
    ['x402 v2', payWithX402],
    ['MPP', payWithMppx],
  ]
  it.each(others)('buys nothing if %s used it before, and the other way round', async (_name, pay) => {
    const business = fixture.business()
    const { url } = await business.open()
    const first = await holdCredential(`${url}/data`, await fixture.payer(), pay)
    expect((await present(`${url}/data`, first)).status).toBe(200)
    expect(await codeOf(await present(`${url}/data`, toV1(first)))).toBe('402 claim_required')
    expect(await codeOf(await present(`${url}/other`, toV1(first)))).toBe('409 payment_replay')
    const second = await holdCredential(`${url}/data`, await fixture.payer(), pay)
    expect((await present(`${url}/other`, toV1(second))).status).toBe(200)
    expect(await codeOf(await present(`${url}/data`, second))).toBe('409 payment_replay')
    expect(business.served).toEqual(['/data', '/other'])
  })
})

it('the service’s record takes the place of the memo in a check of the payment', async () => {
  const business = fixture.business()
  const ledger = await business.connect()
  const { url, node } = await business.open({ ledger })
  const { response } = await payWithX402V1(`${url}/data`, await fixture.payer())
  const { transaction } = decodeXPaymentResponse(response.headers.get('x-payment-response') ?? '')
  const receipt = Buffer.from(response.headers.get('payment-receipt') ?? '', 'base64url').toString()
  const { requestId } = JSON.parse(receipt) as { requestId: string }
  const options = { network: 'localnet', rpc: node.url, mints: { USDC: fixture.world.usdc } } as const
  const { secret } = business
  expect((await checkPayment(transaction, requestId, { ...options, ledger, secret })).checks).toMatchObject({
    memo: 'passed',
    amount: 'passed',
    unused: 'failed',
  })
  const other = await readBody(`${url}/data`)
  expect((await checkPayment(transaction, String(other['requestId']), { ...options, ledger, secret })).code).toBe(
    'memo_mismatch',
  )
  expect((await checkPayment(transaction, requestId, { ...options, secret })).code).toBe('memo_mismatch')
})
