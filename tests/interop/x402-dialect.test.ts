/** The x402 dialect against the packages of x402: their schemas read our headers, and we read their credentials. */
import { generateKeyPairSigner } from '@solana/kit'
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  decodePaymentSignatureHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http'
import { parsePaymentRequired } from '@x402/core/schemas'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm/exact/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { splTokenProgram } from '../../src/core/money/tokens.ts'
import { isMemoOf, shortMemo } from '../../src/core/payment/memo.ts'
import type { RefusalCode } from '../../src/core/payment/refusals.ts'
import { refusals, refuse } from '../../src/core/payment/refusals.ts'
import { x402Networks } from '../../src/core/protocol/x402.ts'
import { createX402 } from '../../src/dialects/x402.ts'
import { createSponsor, incomingWith, offer, parts } from '../harness/foreign-fixture.ts'
import type { MintNode } from './dialect-endpoint.ts'
import { createEndpoint, settledTx, startMintNode, url } from './dialect-endpoint.ts'
import { decodeCredential } from './transaction.ts'

const sponsor = createSponsor()
sponsor.blockhash = 'GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W'
const x402 = createX402({ network: 'localnet', sponsor })
/** The clients' default asset on devnet. */
const usdc = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'
const sold = { ...offer, mints: { USDC: { address: usdc, decimals: 6, tokenProgram: splTokenProgram } } }

let node: MintNode
beforeAll(async () => {
  node = await startMintNode(splTokenProgram)
})
afterAll(() => node.close())

async function createClient() {
  const signer = await generateKeyPairSigner()
  const client = new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl: node.url }))
  return { client, payer: signer.address as string }
}

describe('PAYMENT-REQUIRED', () => {
  it.each([
    ['one token', sold],
    [
      'two tokens and SOL',
      { ...offer, acceptedMints: ['SOL', 'NATIVE', 'USDC'], amounts: { SOL: 1n, NATIVE: 2n, USDC: 3n } },
    ],
    ['a description', { ...sold, description: 'Weather in "Zürich", 2 °C' }],
  ] as const)('of %s passes the schema of @x402/core unchanged', (_, sample) => {
    const [[, header = ''] = []] = x402.prepare(sample)?.(parts) ?? []
    const decoded = decodePaymentRequiredHeader(header)
    const parsed = parsePaymentRequired(decoded)
    expect(parsed.success).toBe(true)
    expect(parsed.data).toEqual(decoded)
  })
})

const anyClaim: unknown = expect.stringMatching(/^[\w-]{22}$/)

describe('an unmodified client of x402', () => {
  it('submits a transaction with our fee payer, blockhash and memo, and reads the settlement', async () => {
    const endpoint = createEndpoint(x402, undefined, sold)
    const { client, payer } = await createClient()
    const response = await wrapFetchWithPayment(endpoint.fetch, client)(url)
    expect(response.status).toBe(200)
    expect(endpoint.readings).toHaveLength(1)
    const [reading] = endpoint.readings
    expect(reading).toMatchObject({ kind: 'credential', credential: { requestId: parts.requestId, claim: anyClaim } })
    const transaction = decodeCredential(reading)
    expect(transaction).toEqual({
      feePayer: sponsor.address,
      blockhash: sponsor.blockhash,
      signers: { [sponsor.address]: false, [payer]: true },
      memos: [shortMemo(parts.requestId)],
    })
    expect(isMemoOf(parts.requestId, transaction.memos[0] ?? '')).toBe(true)
    expect(decodePaymentResponseHeader(response.headers.get('PAYMENT-RESPONSE') ?? '')).toEqual({
      success: true,
      transaction: settledTx,
      network: x402Networks.devnet,
      payer: offer.recipient,
    })
  })

  it('gets the header that the package itself decodes', async () => {
    const { client } = await createClient()
    const [[, header = ''] = []] = x402.prepare(sold)?.(parts) ?? []
    const payload = await client.createPaymentPayload(decodePaymentRequiredHeader(header))
    const text = encodePaymentSignatureHeader(payload)
    expect(decodePaymentSignatureHeader(text)).toEqual(payload)
    const reading = x402.read(incomingWith({ 'payment-signature': text }))
    const { transaction } = payload.payload as { transaction: string }
    const bytes = Uint8Array.from(Buffer.from(transaction, 'base64'))
    const credential = { transaction: bytes, requestId: parts.requestId, claim: anyClaim }
    expect(reading).toEqual({ kind: 'credential', credential })
  })

  it.each(Object.keys(refusals) as RefusalCode[])(
    'sends one credential, and gets a readable answer to %s',
    async (code) => {
      const endpoint = createEndpoint(x402, refuse(code), sold)
      const { client } = await createClient()
      const response = await wrapFetchWithPayment(endpoint.fetch, client)(url)
      expect(endpoint.readings).toHaveLength(1)
      const header = response.headers.get('PAYMENT-RESPONSE')
      if (header !== null) expect(decodePaymentResponseHeader(header)).toMatchObject({ success: false })
    },
  )
})
