/**
 * The dialect of x402 version 2. It sells only for SPL tokens, and only while the sponsor pays the network fee: x402 has
 * no other way on Solana.
 */
import type { Incoming } from '../core/http/http.ts'
import type { Network } from '../core/money/tokens.ts'
import { refusals } from '../core/payment/refusals.ts'
import { mppAcceptHeader, parseMppAccept } from '../core/protocol/mpp.ts'
import { createClaim } from '../core/protocol/proof.ts'
import type { X402Required } from '../core/protocol/x402.ts'
import {
  formatX402Settlement,
  parseX402Signature,
  prepareX402Required,
  x402Networks,
  x402RequiredHeader,
  x402ResponseHeader,
  x402SignatureHeader,
} from '../core/protocol/x402.ts'
import type { ForeignDialect } from './dialect.ts'
import type { FeePayer, RefusalReasons } from './foreign.ts'
import { findReason, foreignStatus, isFreshRefusal, isNativeClient, listMintPrices, noHeaders } from './foreign.ts'

export interface X402Parts {
  readonly network: Network
  readonly sponsor: FeePayer
}

const signatureName = x402SignatureHeader.toLowerCase()
const acceptName = mppAcceptHeader.toLowerCase()

/** Whether the client of an unpaid request may speak x402, in any version. */
export function readsX402(incoming: Incoming): boolean {
  return !isNativeClient(incoming) && parseMppAccept(incoming.header(acceptName)) !== 'only_charge'
}

export function createX402({ network, sponsor }: X402Parts): ForeignDialect {
  return {
    name: 'x402',
    requestHeaders: [x402SignatureHeader, mppAcceptHeader],
    responseHeaders: [x402RequiredHeader, x402ResponseHeader],

    read: (incoming) => {
      const header = incoming.header(signatureName)
      if (header === undefined) return undefined
      const reading = parseX402Signature(header)
      if (reading.kind === 'malformed') return reading
      const { transaction, requestId, claim } = reading
      return { kind: 'credential', credential: { transaction, requestId, claim } }
    },

    isWanted: readsX402,

    prepare: (offer) => {
      const { recipient, description } = offer
      const entries = listMintPrices(offer)
      if (entries.length === 0 || offer.isUnsponsored) return undefined
      let recentBlockhash: string | undefined
      let write: X402Required | undefined
      return (parts) => {
        if (parts.proof !== 'bare' || !sponsor.isOffering()) return noHeaders
        const recent = sponsor.recent()?.blockhash
        const { requestId, resource } = parts
        const own = { requestId, resource, claim: createClaim() }
        if (parts.refused) {
          const [error, feePayer] = [reasons[parts.refused.refusal.code], sponsor.address]
          const terms = { network, recipient, feePayer, recentBlockhash: recent, description, entries, error }
          return [[x402RequiredHeader, prepareX402Required(terms)(own)]]
        }
        if (!write || recent !== recentBlockhash) {
          recentBlockhash = recent
          const feePayer = sponsor.address
          write = prepareX402Required({ network, recipient, feePayer, recentBlockhash, description, entries })
        }
        return [[x402RequiredHeader, write(own)]]
      }
    },

    refusal: createX402Refusal(reasons, network, x402ResponseHeader, x402Networks),

    isFresh: isFreshRefusal,

    paid: ({ tx, payer }) => [[x402ResponseHeader, formatX402Settlement({ success: true, network, tx, payer })]],
  }
}

/** The refusals of any version. */
export function createX402Refusal(
  own: RefusalReasons,
  network: Network,
  header: string,
  names: Readonly<Record<Network, string>>,
): ForeignDialect['refusal'] {
  return (refusal, facts) => {
    const status = foreignStatus(refusal)
    const errorReason = findReason(own, refusal, facts)
    if (errorReason === undefined) return { status, headers: noHeaders }
    const errorMessage = refusal.detail ?? refusals[refusal.code].title
    const settlement = { ...facts, success: false as const, network, errorReason, errorMessage }
    return { status, headers: [[header, formatX402Settlement(settlement, names)]] }
  }
}

/** The reasons of the reference implementation, as in @x402/svm and x402. */
export const reasons: RefusalReasons = {
  proof_malformed: 'invalid_payload',
  quote_expired: 'payment_expired',
  payment_expired: 'payment_expired',
  unknown_request: 'invalid_payment_requirements',
  binding_mismatch: 'invalid_payment_requirements',
  claim_required: 'invalid_payment_requirements',
  claim_invalid: 'invalid_payment_requirements',
  signature_required: 'invalid_payment_requirements',
  signature_invalid: 'invalid_payment_requirements',
  payer_mismatch: 'invalid_exact_svm_verification_failed',
  transaction_invalid: 'invalid_exact_svm_verification_failed',
  tx_failed: 'invalid_exact_svm_transaction_failed',
  memo_mismatch: 'invalid_exact_svm_payload_memo_mismatch',
  wrong_recipient: 'invalid_exact_svm_payload_recipient_mismatch',
  wrong_destination: 'invalid_exact_svm_payload_recipient_mismatch',
  self_payment: 'invalid_exact_svm_payload_recipient_mismatch',
  wrong_mint: 'invalid_exact_svm_payload_mint_mismatch',
  no_transfer: 'invalid_exact_svm_payload_no_transfer_instruction',
  unsupported_transfer: 'invalid_exact_svm_payload_no_transfer_instruction',
  underpaid: 'invalid_exact_svm_payload_amount_mismatch',
  payment_in_progress: 'duplicate_settlement',
  payment_replay: 'duplicate_settlement',
  settlement_pending: 'settlement_pending',
  tx_not_found: 'settlement_pending',
  tx_not_final: 'settlement_pending',
  unavailable: 'unexpected_settle_error',
  pending: 'settlement_pending',
}
