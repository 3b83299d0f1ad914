/** The MPP dialect against mppx and @solana/mpp: they read our challenges and receipts, and we read their credentials. */
import { generateKeyPairSigner } from '@solana/kit'
import { charge } from '@solana/mpp/client'
import { Challenge, Credential, PaymentRequest, Receipt } from 'mppx'
import { Mppx } from 'mppx/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { splTokenProgram } from '../../src/core/money/tokens.ts'
import type { RefusalCode } from '../../src/core/payment/refusals.ts'
import { refusals, refuse } from '../../src/core/payment/refusals.ts'
import { formatReceipt } from '../../src/core/protocol/receipt.ts'
import { createMpp } from '../../src/dialects/mpp.ts'
import { createSponsor, incomingWith, offer, parts } from '../harness/foreign-fixture.ts'
import type { DialectEndpoint, MintNode } from './dialect-endpoint.ts'
import { createEndpoint, settledTx, startMintNode, url } from './dialect-endpoint.ts'
import { decodeCredential } from './transaction.ts'

const blockhash = 'GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W'
const sponsor = createSponsor()
sponsor.blockhash = blockhash
const realm = 'a.example'
const sponsored = createMpp({ realm, sponsor, push: false })
/** A sponsor that lends its blockhash and pays no fees. */
const resting = createSponsor()
resting.blockhash = blockhash
resting.offering = false
const clientPaid = createMpp({ realm, sponsor: resting, push: false })
const pushed = createMpp({ realm, sponsor: resting, push: true })
const elsewhere = createMpp({ realm, sponsor, push: false, header: 'Payment-Authorization' })
const forSol = { ...offer, acceptedMints: ['SOL'], amounts: { SOL: 5_000n } } as const

let node: MintNode
beforeAll(async () => {
  node = await startMintNode(splTokenProgram)
})
afterAll(() => node.close())

async function pay(endpoint: DialectEndpoint, broadcast = false) {
  const signer = await generateKeyPairSigner()
  const methods = [charge({ signer, rpcUrl: node.url, broadcast })]
  const mppx = Mppx.create({ methods, fetch: endpoint.fetch, polyfill: false })
  const response = await mppx.fetch(url)
  return { response, payer: signer.address as string }
}

describe('the challenge', () => {
  it.each([
    ['a sponsored token', sponsored, offer],
    ['a token', clientPaid, offer],
    ['sponsored SOL', sponsored, forSol],
    ['SOL', clientPaid, forSol],
    ['another header', elsewhere, offer],
  ] as const)('for %s is what mppx itself would write', (_, dialect, sample) => {
    const [[, header = ''] = []] = dialect.prepare(sample)?.(parts) ?? []
    const challenge = Challenge.deserialize(header)
    const id = expect.stringMatching(new RegExp(`^${parts.requestId}\\.[\\w-]{22}$`))
    expect(challenge).toMatchObject({ id, realm, method: 'solana', intent: 'charge' })
    expect(Challenge.serialize(challenge)).toBe(header)
    expect(header).toContain(`request="${PaymentRequest.serialize(challenge.request)}"`)
  })
})

const anyClaim: unknown = expect.stringMatching(/^[\w-]{22}$/)

describe('an unmodified client of MPP', () => {
  it.each([
    ['a sponsored token', sponsored, offer, sponsor.address],
    ['a token', clientPaid, offer, undefined],
    ['sponsored SOL', sponsored, forSol, sponsor.address],
    ['SOL', clientPaid, forSol, undefined],
  ] as const)('submits a transaction for %s', async (_, dialect, sample, feePayer) => {
    const endpoint = createEndpoint(dialect, undefined, sample)
    const { response, payer } = await pay(endpoint)
    expect(response.status).toBe(200)
    expect(endpoint.readings).toHaveLength(1)
    expect(endpoint.readings[0]).toMatchObject({ credential: { requestId: parts.requestId, claim: anyClaim } })
    expect(decodeCredential(endpoint.readings[0])).toEqual({
      feePayer: feePayer ?? payer,
      blockhash,
      signers: feePayer ? { [feePayer]: false, [payer]: true } : { [payer]: true },
      memos: [parts.requestId],
    })
    expect(endpoint.unpaid.map((incoming) => dialect.isWanted(incoming))).toEqual([true])
  })

  it('sends the credential in the header that the challenge names', async () => {
    const endpoint = createEndpoint(elsewhere)
    const names: string[] = []
    const fetch: typeof globalThis.fetch = (input, init) => {
      const { headers } = new Request(input, init)
      names.push(...['authorization', 'payment-authorization'].filter((name) => headers.has(name)))
      return endpoint.fetch(input, init)
    }
    expect((await pay({ ...endpoint, fetch })).response.status).toBe(200)
    expect(names).toEqual(['payment-authorization'])
    expect(endpoint.readings).toMatchObject([{ kind: 'credential' }])
  })

  it('presents the signature of a payment that it has sent', async () => {
    const endpoint = createEndpoint(pushed)
    expect((await pay(endpoint, true)).response.status).toBe(200)
    expect(endpoint.readings).toEqual([
      { kind: 'signature', tx: settledTx, requestId: parts.requestId, claim: anyClaim },
    ])
  })

  it('pays once if the service does not accept signatures', async () => {
    const probe = createEndpoint(clientPaid)
    await pay(probe, true)
    const [refusal] = probe.readings
    if (refusal?.kind !== 'refused') throw new Error('the signature was accepted')
    const endpoint = createEndpoint(clientPaid, refusal)
    expect((await pay(endpoint, true)).response.status).toBe(402)
    expect(endpoint.readings).toHaveLength(1)
  })

  const final = (Object.keys(refusals) as RefusalCode[]).filter((code) => !sponsored.isFresh(refuse(code)))
  it.each(final)('sends one credential if the answer is %s', async (code) => {
    const endpoint = createEndpoint(sponsored, refuse(code))
    await pay(endpoint)
    expect(endpoint.readings).toHaveLength(1)
  })
})

it('reads what mppx serializes', () => {
  const [[, header = ''] = []] = sponsored.prepare(offer)?.(parts) ?? []
  const challenge = Challenge.deserialize(header)
  const transaction = Buffer.alloc(1232, 7).toString('base64')
  const authorization = Credential.serialize({ challenge, payload: { type: 'transaction', transaction } })
  expect(sponsored.read(incomingWith({ authorization }))).toMatchObject({ kind: 'credential' })
})

it('has a receipt that mppx reads', () => {
  const receipt = {
    status: 'success',
    method: 'solana',
    reference: settledTx,
    timestamp: '2026-01-31T00:00:00Z',
    requestId: parts.requestId,
    resource: url,
    token: 'USDC',
    amount: '0.01',
    payer: 'pseudonym',
  } as const
  const claim = 'AAECAwQFBgcICQoLDA0ODw'
  const settled = { tx: settledTx, requestId: parts.requestId, claim, payer: offer.recipient }
  const members = sponsored.receiptMembers?.(settled)
  const headers = { 'Payment-Receipt': formatReceipt(receipt, () => new Uint8Array(64), members) }
  expect(Receipt.fromResponse(new Response('', { headers }))).toMatchObject({
    ...receipt,
    challengeId: `${parts.requestId}.${claim}`,
  })
})
