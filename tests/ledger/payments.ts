/** Payments, clocks and identities for the tests of the ledger. */
import { randomBytes } from 'node:crypto'
import type { Sighting } from '../../src/core/ports/journal.ts'
import type { PaymentRecord, Take } from '../../src/core/ports/ledger.ts'
import type { Clock } from '../../src/core/runtime.ts'
import type { LedgerIdentity } from '../../src/ledger/identity.ts'

export interface TestClock extends Clock {
  advance(ms: number): void
}

export const startOfTests = 1_800_000_000_000

export function createTestClock(): TestClock {
  let now = startOfTests
  return {
    now: () => now,
    monotonic: () => now,
    advance: (ms) => {
      now += ms
    },
  }
}

export const identity: LedgerIdentity = { network: 'localnet', service: 'tests', fingerprint: 'fingerprint-1' }

export const leaseMs = 1000

/** A payment for one request that nobody made before. */
export function createPayment(changes: Partial<PaymentRecord> = {}): PaymentRecord {
  return {
    tx: new Uint8Array(randomBytes(64)),
    request: 'request-1',
    payer: 'payer-1',
    scope: 'GET /api/data',
    recipient: 'recipient-1',
    token: 'USDC',
    required: 10_000n,
    received: 10_000n,
    allowance: { unit: 'request', amount: 1n },
    slot: 1,
    paidAt: startOfTests - 1000,
    usableUntil: startOfTests + 86_400_000,
    finality: 'confirmed',
    endpoint: '/api/data',
    worth: 10_000_000_000n,
    rates: undefined,
    ...changes,
  }
}

/** A payment as the watcher sees it, for an hour to be claimed. */
export function createSighting(changes: Partial<Sighting> = {}): Sighting {
  return {
    tx: new Uint8Array(randomBytes(64)),
    recipient: 'recipient-1',
    request: 'request-1',
    payer: 'payer-1',
    token: 'USDC',
    received: 10_000n,
    slot: 7,
    paidAt: startOfTests - 1000,
    endpoint: '/api/data',
    claimableUntil: startOfTests + 3_600_000,
    required: 10_000n,
    payableUntil: startOfTests + 60_000,
    ...changes,
  }
}

/** The take with which a payment's first proof arrives. */
export function takeOf(payment: PaymentRecord, changes: Partial<Take> = {}): Take {
  return { tx: payment.tx, request: payment.request, payment, amount: 1n, leaseMs, ...changes }
}

/** The take of a later proof: the payment is known to be registered. */
export function againOf(payment: PaymentRecord, changes: Partial<Omit<Take, 'payment'>> = {}): Take {
  return { tx: payment.tx, request: payment.request, amount: 1n, leaseMs, ...changes }
}
