import { describe, expect, it } from 'vitest'
import { bundle, createSponsor, incomingWith, offer, parts } from '../../tests/harness/foreign-fixture.ts'
import type { HeaderPairs } from '../core/http/http.ts'
import type { RefusalCode } from '../core/payment/refusals.ts'
import { refusals, refuse } from '../core/payment/refusals.ts'
import { x402Networks } from '../core/protocol/x402.ts'
import { createX402 } from './x402.ts'

const tx = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
const payer = 'GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W'
const sponsor = createSponsor()
const x402 = createX402({ network: 'localnet', sponsor })

function decode(pairs: HeaderPairs | undefined): unknown {
  const [, value] = pairs?.[0] ?? []
  return value === undefined ? undefined : JSON.parse(Buffer.from(value, 'base64').toString())
}

describe('the x402 dialect', () => {
  it('adds PAYMENT-REQUIRED with the fee payer and a recent blockhash', () => {
    const headers = x402.prepare(offer)?.(parts)
    expect(headers?.map(([name]) => name)).toEqual(['PAYMENT-REQUIRED'])
    expect(decode(headers)).toMatchObject({
      resource: { url: 'http://a.example/' },
      accepts: [{ asset: offer.mints.USDC?.address, amount: '10000', extra: { feePayer: sponsor.address } }],
    })
  })

  it('has another claim each time', () => {
    const write = x402.prepare(offer)
    const readClaim = () =>
      (decode(write?.(parts)) as { accepts: { extra: { claim: string } }[] }).accepts[0]?.extra.claim
    const claims = [readClaim(), readClaim()]
    expect(claims).toEqual([expect.stringMatching(/^[\w-]{22}$/), expect.stringMatching(/^[\w-]{22}$/)])
    expect(new Set(claims).size).toBe(2)
  })

  it('offers USDC first, and never SOL', () => {
    const acceptedMints = ['NATIVE', 'SOL', 'USDC'] as const
    const amounts = { NATIVE: 5n, SOL: 6n, USDC: 7n }
    expect(decode(x402.prepare({ ...offer, acceptedMints, amounts })?.(parts))).toMatchObject({
      accepts: [
        { asset: offer.mints.USDC?.address, amount: '7' },
        { asset: offer.mints.NATIVE?.address, amount: '5' },
      ],
    })
  })

  it.each([
    ['for SOL alone', { acceptedMints: ['SOL'], amounts: { SOL: 5n } }],
    ['of a token without a mint', { mints: {} }],
    ['of a token that is priced but not accepted', { acceptedMints: ['SOL'], amounts: { SOL: 5n, USDC: 5n } }],
    ['of nothing', { amounts: { USDC: 0n } }],
    ['of several requests', { allowance: bundle }],
  ] as const)('cannot sell an offer %s', (_, more) => {
    expect(x402.prepare({ ...offer, ...more })).toBeUndefined()
  })

  it('adds nothing if the proof is not bare, or while the sponsor does not pay', () => {
    const changing = createSponsor()
    const write = createX402({ network: 'localnet', sponsor: changing }).prepare(offer)
    expect(write?.({ ...parts, proof: 'claim' })).toEqual([])
    expect(write?.({ ...parts, proof: 'sig' })).toEqual([])
    changing.offering = false
    expect(write?.(parts)).toEqual([])
    changing.offering = true
    expect(write?.(parts)).toHaveLength(1)
  })

  it('follows the blockhash of the sponsor', () => {
    const changing = createSponsor()
    const write = createX402({ network: 'localnet', sponsor: changing }).prepare(offer)
    const hintIn = () => (decode(write?.(parts)) as { accepts: { extra: object }[] }).accepts[0]?.extra
    expect(hintIn()).not.toHaveProperty('recentBlockhash')
    changing.blockhash = payer
    expect(hintIn()).toHaveProperty('recentBlockhash', payer)
    changing.blockhash = sponsor.address
    expect(hintIn()).toHaveProperty('recentBlockhash', sponsor.address)
    changing.blockhash = undefined
    expect(hintIn()).not.toHaveProperty('recentBlockhash')
  })

  it.each([
    [{}, true],
    [{ 'payment-accept': 'sig' }, false],
    [{ 'payment-accept': '' }, false],
    [{ 'accept-payment': 'solana/charge' }, false],
    [{ 'accept-payment': 'solana/charge, evm/charge' }, true],
    [{ 'accept-payment': 'evm/charge' }, true],
  ])('for a request with %j is wanted: %s', (headers, isWanted) => {
    expect(x402.isWanted(incomingWith(headers))).toBe(isWanted)
  })

  it('reads PAYMENT-SIGNATURE only', () => {
    expect(x402.read(incomingWith({ authorization: 'Payment e30' }))).toBeUndefined()
    expect(x402.read(incomingWith({ 'payment-signature': '' }))?.kind).toBe('malformed')
    const claim = 'AAECAwQFBgcICQoLDA0ODw'
    const accepted = { scheme: 'exact', extra: { requestId: 'rid_1', claim } }
    const payload = { x402Version: 2, accepted, payload: { transaction: 'QQ==' } }
    const header = Buffer.from(JSON.stringify(payload)).toString('base64')
    expect(x402.read(incomingWith({ 'payment-signature': header }))).toEqual({
      kind: 'credential',
      credential: { transaction: Uint8Array.of(65), requestId: 'rid_1', claim },
    })
  })

  it('reports a paid request', () => {
    const headers = x402.paid({ tx, payer, requestId: 'rid_1' })
    expect(headers.map(([name]) => name)).toEqual(['PAYMENT-RESPONSE'])
    expect(decode(headers)).toEqual({ success: true, transaction: tx, network: x402Networks.devnet, payer })
  })
})

/** Status and reason, before and after the service has signed. */
const outcomes: Readonly<Record<RefusalCode, readonly [status: number, reason?: string, signed?: string]>> = {
  proof_malformed: [402, 'invalid_payload'],
  quote_expired: [402, 'payment_expired'],
  payment_expired: [402, 'payment_expired'],
  unknown_request: [402, 'invalid_payment_requirements'],
  binding_mismatch: [402, 'invalid_payment_requirements'],
  claim_required: [402, 'invalid_payment_requirements'],
  claim_invalid: [402, 'invalid_payment_requirements'],
  signature_required: [402, 'invalid_payment_requirements'],
  signature_invalid: [402, 'invalid_payment_requirements'],
  payer_mismatch: [402, 'invalid_exact_svm_verification_failed'],
  transaction_invalid: [402, 'invalid_exact_svm_verification_failed'],
  tx_failed: [402, 'invalid_exact_svm_transaction_failed'],
  memo_mismatch: [402, 'invalid_exact_svm_payload_memo_mismatch'],
  wrong_recipient: [402, 'invalid_exact_svm_payload_recipient_mismatch'],
  wrong_destination: [402, 'invalid_exact_svm_payload_recipient_mismatch'],
  self_payment: [402, 'invalid_exact_svm_payload_recipient_mismatch'],
  wrong_mint: [402, 'invalid_exact_svm_payload_mint_mismatch'],
  no_transfer: [402, 'invalid_exact_svm_payload_no_transfer_instruction'],
  unsupported_transfer: [402, 'invalid_exact_svm_payload_no_transfer_instruction'],
  underpaid: [402, 'invalid_exact_svm_payload_amount_mismatch'],
  payment_in_progress: [409, 'duplicate_settlement'],
  payment_replay: [409, 'duplicate_settlement'],
  tx_not_found: [503, 'settlement_pending'],
  tx_not_final: [503, 'settlement_pending'],
  settlement_pending: [503, 'settlement_pending'],
  chain_unavailable: [503, 'unexpected_settle_error', 'settlement_pending'],
  chain_disagreement: [503, 'unexpected_settle_error', 'settlement_pending'],
  ledger_unavailable: [503, 'unexpected_settle_error', 'settlement_pending'],
  sponsor_exhausted: [503, 'unexpected_settle_error', 'settlement_pending'],
  resource_unavailable: [503, 'unexpected_settle_error', 'settlement_pending'],
  shutting_down: [503, 'unexpected_settle_error', 'settlement_pending'],
  not_priced: [503, 'unexpected_settle_error', 'settlement_pending'],
  route_unknown: [503, 'unexpected_settle_error', 'settlement_pending'],
  rate_limited: [429],
  handler_failed: [502],
  range_mismatch: [409],
  parameter_repeated: [400],
  body_too_long: [413],
  body_incomplete: [400],
}

describe('a refusal in x402', () => {
  it.each(Object.entries(outcomes))('%s has the outcome %j', (name, [status, reason, signed = reason]) => {
    const code = name as RefusalCode
    const network = x402Networks.devnet
    const failed = { success: false, errorMessage: refusals[code].title, network }
    const before = x402.refusal(refuse(code), {})
    expect(before.status).toBe(status)
    expect(decode(before.headers)).toEqual(reason && { ...failed, errorReason: reason, transaction: '' })
    const after = x402.refusal(refuse(code), { tx, payer, requestId: 'rid_1' })
    expect(after.status).toBe(status)
    expect(decode(after.headers)).toEqual(signed && { ...failed, errorReason: signed, transaction: tx, payer })
  })

  it('tells the detail, and keeps the status of a late resource', () => {
    const { headers } = x402.refusal(refuse('underpaid', { detail: 'Half of it.' }), {})
    expect(decode(headers)).toMatchObject({ errorMessage: 'Half of it.' })
    expect(x402.refusal(refuse('handler_failed', { status: 504 }), {})).toEqual({ status: 504, headers: [] })
  })

  it.each(Object.keys(outcomes) as RefusalCode[])('%s has a fresh challenge only if nothing was paid', (code) => {
    expect(x402.isFresh(refuse(code))).toBe(code === 'proof_malformed' || code === 'quote_expired')
  })
})
