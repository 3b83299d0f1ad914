/**
 * The dialect of x402 version 1. Its challenge is in the body of the 402. Its credential names no challenge, so the
 * service quotes the request when the credential arrives.
 */
import { mppAcceptHeader } from '../core/protocol/mpp.ts'
import { formatX402Settlement } from '../core/protocol/x402.ts'
import {
  parseX402V1Payment,
  prepareX402V1Members,
  x402V1Networks,
  x402V1PaymentHeader,
  x402V1ResponseHeader,
} from '../core/protocol/x402-v1.ts'
import type { ForeignDialect } from './dialect.ts'
import { isFreshRefusal, listMintPrices, type RefusalReasons } from './foreign.ts'
import { createX402Refusal, readsX402, reasons, type X402Parts } from './x402.ts'

const paymentName = x402V1PaymentHeader.toLowerCase()

export function createX402V1({ network, sponsor }: X402Parts): ForeignDialect {
  return {
    name: 'x402-v1',
    requestHeaders: [x402V1PaymentHeader, mppAcceptHeader],
    responseHeaders: [x402V1ResponseHeader],

    read: (incoming) => {
      const header = incoming.header(paymentName)
      if (header === undefined) return undefined
      const reading = parseX402V1Payment(header)
      if (reading.kind === 'malformed') return reading
      return { kind: 'credential', credential: { transaction: reading.transaction, isUnnamed: true } }
    },

    isWanted: readsX402,

    prepare: () => undefined,

    prepareMembers: (offer) => {
      const { recipient, description } = offer
      const entries = listMintPrices(offer)
      if (entries.length === 0 || offer.isUnsponsored) return undefined
      let feePayer = sponsor.address
      let write = prepareX402V1Members({ network, recipient, feePayer, description, entries })
      return (parts) => {
        if (parts.proof !== 'bare' || !sponsor.isOffering()) return ''
        // The sponsor may have been opened after the offer.
        if (feePayer !== sponsor.address) {
          feePayer = sponsor.address
          write = prepareX402V1Members({ network, recipient, feePayer, description, entries })
        }
        return write(parts, parts.refused && v1Reasons[parts.refused.refusal.code])
      }
    },

    refusal: createX402Refusal(v1Reasons, network, x402V1ResponseHeader, x402V1Networks),

    isFresh: isFreshRefusal,

    paid: ({ tx, payer }) => [
      [x402V1ResponseHeader, formatX402Settlement({ success: true, network, tx, payer }, x402V1Networks)],
    ],
  }
}

/** Clients of version 1 know a closed list of reasons. */
const v1Reasons: RefusalReasons = {
  ...reasons,
  payer_mismatch: 'invalid_exact_svm_payload_transaction',
  transaction_invalid: 'invalid_exact_svm_payload_transaction',
  tx_failed: 'invalid_exact_svm_payload_transaction_simulation_failed',
  memo_mismatch: 'invalid_exact_svm_payload_transaction',
  wrong_recipient: 'invalid_exact_svm_payload_transaction_transfer_to_incorrect_ata',
  wrong_destination: 'invalid_exact_svm_payload_transaction_transfer_to_incorrect_ata',
  self_payment: 'invalid_exact_svm_payload_transaction_transfer_to_incorrect_ata',
  wrong_mint: 'invalid_exact_svm_payload_transaction_transfer_to_incorrect_ata',
  no_transfer: 'invalid_exact_svm_payload_transaction_not_a_transfer_instruction',
  unsupported_transfer: 'invalid_exact_svm_payload_transaction_not_a_transfer_instruction',
  underpaid: 'invalid_exact_svm_payload_transaction_amount_mismatch',
  settlement_pending: 'settle_exact_svm_transaction_confirmation_timed_out',
  tx_not_found: 'settle_exact_svm_transaction_confirmation_timed_out',
  tx_not_final: 'settle_exact_svm_transaction_confirmation_timed_out',
  pending: 'settle_exact_svm_transaction_confirmation_timed_out',
}
