/** Schemas of the public responses, from which `/openapi.json` is made. Tests validate every response against them. */
import { z } from 'zod'
import { networks } from '../../core/money/tokens.ts'
import { units } from '../../core/payment/allowance.ts'
import { paymentListStatuses } from '../../core/payment/history.ts'
import { refusals } from '../../core/payment/refusals.ts'
import { check, count, decimal, moment, token } from '../http/answers.ts'

export const verification = z
  .strictObject({
    valid: z.boolean(),
    status: z.enum(paymentListStatuses),
    code: z.enum(Object.keys(refusals) as [keyof typeof refusals]).optional(),
    detail: z.string().optional(),
    retryable: z.boolean(),
    requestId: z.string(),
    checks: z.strictObject({
      exists: check,
      recipient: check,
      amount: check,
      memo: check,
      unused: check,
      unexpired: check,
      sealed: check,
    }),
    recipient: z.string().optional(),
    payer: z.string().optional(),
    token: token.optional(),
    received: decimal.optional(),
    slot: count.optional(),
    paidAt: moment.optional(),
    claimableUntil: moment.optional(),
  })
  .meta({ id: 'Verification' })

export const readiness = z
  .strictObject({
    ready: z.boolean(),
    offered: z.array(token),
    withheld: z.partialRecord(token, z.string()).meta({ description: 'Reason why a token is not offered.' }),
    why: z.array(z.string()),
  })
  .meta({ id: 'Readiness' })
export const health = z.strictObject({ status: z.literal('ok') }).meta({ id: 'Health' })

export const offer = z.strictObject({
  methods: z.array(z.string()),
  path: z.string().nullable().meta({ description: 'Null if the endpoint has no description.' }),
  price: z.string().nullable().meta({ description: 'Null if the price depends on the request.' }),
  token,
  per: z.strictObject({ unit: z.enum(units), amount: z.number() }),
  reopenSeconds: count
    .optional()
    .meta({ description: 'The time for which the browser that paid can open its purchase again, if it can.' }),
  acceptedMints: z.array(token),
  recipient: z.string(),
  scope: z.string(),
  description: z.string().optional(),
})

export const wellKnown = z
  .strictObject({
    version: z.literal(1),
    service: z.string(),
    network: z.enum(networks),
    testMode: z.boolean().meta({ description: 'Whether payments use test money.' }),
    banner: z.string().optional().meta({ description: 'Text that pages show in test mode.' }),
    genesis: z.string(),
    identityKey: z.string().meta({ description: 'Ed25519 key that signs receipts, base58.' }),
    recipients: z.array(z.string()),
    tokens: z.record(z.string(), z.strictObject({ address: z.string(), decimals: count, tokenProgram: z.string() })),
    endpoints: z.array(offer),
    urls: z.record(z.string(), z.string()),
  })
  .meta({ id: 'WellKnown' })

/** The answers of a facilitator are those of x402. */
const payer = z.string().optional()
export const facilitatorSupported = z
  .strictObject({
    kinds: z.array(
      z.strictObject({
        x402Version: z.union([z.literal(1), z.literal(2)]),
        scheme: z.literal('exact'),
        network: z.string(),
        extra: z.strictObject({ feePayer: z.string() }),
      }),
    ),
    extensions: z.array(z.string()),
    signers: z.record(z.string(), z.array(z.string())),
  })
  .meta({ id: 'FacilitatorSupported' })
export const facilitatorVerification = z
  .strictObject({
    isValid: z.boolean(),
    invalidReason: z.string().optional(),
    invalidMessage: z.string().optional(),
    payer,
  })
  .meta({ id: 'FacilitatorVerification' })
export const facilitatorSettlement = z
  .strictObject({
    success: z.boolean(),
    errorReason: z.string().optional(),
    errorMessage: z.string().optional(),
    payer,
    transaction: z.string().meta({ description: 'Empty if no transaction was sent.' }),
    network: z.string(),
  })
  .meta({ id: 'FacilitatorSettlement' })
