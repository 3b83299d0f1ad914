// Payments that were never on a chain, for benchmarks of the ledger and of its readers.
import { randomBytes } from 'node:crypto'

/**
 * @typedef {import('../dist/server.js').Clock} Clock
 * @typedef {import('../dist/core/ports/ledger.js').PaymentRecord} Payment
 */

/** @type {Clock} */
export const clock = { now: () => Date.now(), monotonic: () => performance.now() }

/** @type {import('../dist/ledger/open.js').LedgerParts['identity']} */
export const identity = { network: 'localnet', service: 'bench', fingerprint: 'fingerprint-1' }

/**
 * A payment of 0.01 USDC by a new payer.
 *
 * @param {Partial<Payment>} [differences]
 * @returns {Payment}
 */
export function createPayment(differences = {}) {
  return {
    tx: new Uint8Array(randomBytes(64)),
    request: randomBytes(16).toString('hex'),
    payer: randomBytes(16).toString('hex'),
    scope: 'GET /api/data',
    recipient: 'recipient',
    token: 'USDC',
    required: 10_000n,
    received: 10_000n,
    allowance: { unit: 'request', amount: 1n },
    slot: 1,
    paidAt: Math.floor(Date.now() / 1000) * 1000,
    usableUntil: Date.now() + 86_400_000,
    finality: 'finalized',
    endpoint: '/api/data',
    worth: 10_000_000_000n,
    rates: undefined,
    ...differences,
  }
}
