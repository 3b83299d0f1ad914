/** The dialect of x402 v1 against its client: one credential, whatever the answer, and answers that its schemas read. */
import { generateKeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SettleResponseSchema } from 'x402/types'
import { decodeXPaymentResponse } from 'x402-fetch'
import { splTokenProgram } from '../../src/core/money/tokens.ts'
import type { RefusalCode } from '../../src/core/payment/refusals.ts'
import { refusals, refuse } from '../../src/core/payment/refusals.ts'
import { createX402V1 } from '../../src/dialects/x402-v1.ts'
import { createSponsor } from '../harness/foreign-fixture.ts'
import { payWithX402V1 } from './clients.ts'
import { createEndpoint, type MintNode, settledTx, startMintNode, url } from './dialect-endpoint.ts'
import { decodeCredential } from './transaction.ts'

const sponsor = createSponsor()
const v1 = createX402V1({ network: 'localnet', sponsor })

let node: MintNode
beforeAll(async () => {
  node = await startMintNode(splTokenProgram)
})
afterAll(() => node.close())

async function pay(endpoint: { readonly fetch: typeof globalThis.fetch }) {
  const signer = await generateKeyPairSigner()
  const paid = await payWithX402V1(url, { rpcUrl: node.url, signer, fetch: endpoint.fetch })
  return { ...paid, payer: signer.address }
}

it('submits a transaction that the sponsor must sign, without a memo', async () => {
  const endpoint = createEndpoint(v1)
  const { response, payer } = await pay(endpoint)
  expect(response.status).toBe(200)
  const { signers, feePayer, memos } = decodeCredential(endpoint.readings[0])
  expect({ signers, feePayer, memos }).toEqual({
    signers: { [sponsor.address]: false, [payer]: true },
    feePayer: sponsor.address,
    memos: [],
  })
  const settlement = decodeXPaymentResponse(response.headers.get('x-payment-response') ?? '')
  expect(SettleResponseSchema.parse(settlement)).toMatchObject({ success: true, transaction: settledTx })
})

it.each(Object.keys(refusals) as RefusalCode[])(
  'sends one credential, and gets a readable answer to %s',
  async (code) => {
    const endpoint = createEndpoint(v1, refuse(code))
    const { response, credentials } = await pay(endpoint)
    expect([endpoint.readings.length, credentials.length]).toEqual([1, 1])
    expect(response.status).not.toBe(200)
    const header = response.headers.get('x-payment-response')
    if (header !== null)
      expect(SettleResponseSchema.parse(decodeXPaymentResponse(header))).toMatchObject({ success: false })
  },
)
