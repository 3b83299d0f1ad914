/** Schemas of the public request bodies. They parse the bodies, and `/openapi.json` is made from them. */
import { z } from 'zod'
import { decodeSignature } from '../../core/encoding/base58.ts'
import { parseTransaction } from '../../core/protocol/credential.ts'
import { requestIdPattern } from '../../core/protocol/request-id.ts'
import { token } from '../http/answers.ts'
import { asRead } from '../http/inputs.ts'
import { address } from '../http/queries.ts'

export const verifyBody = z
  .strictObject({
    tx: z
      .string()
      .refine((text) => decodeSignature(text) !== undefined, 'must be the signature of a transaction in base58')
      .meta({ description: 'Signature of the payment.' }),
    requestId: z
      .string()
      .regex(requestIdPattern, 'must be the requestId of a challenge')
      .meta({ description: 'From the challenge.' }),
    payer: address.optional().meta({ description: 'Expected payer.' }),
    recipient: address.optional().meta({ description: 'Expected recipient.' }),
    amount: z
      .union([z.number(), z.string()], { error: 'must be a number or decimal text' })
      .optional()
      .meta({ description: 'Minimum amount, as a decimal of `mint`.' }),
    mint: token.optional().meta({ description: 'Expected token code.' }),
  })
  .refine(({ amount, mint }) => amount === undefined || mint !== undefined, { error: 'amount needs mint' })
export type VerifyBody = z.output<typeof verifyBody>

const baseUnits = z.string().regex(/^[1-9]\d{0,19}$/, 'must be a whole number of base units')
const facilitatorNetwork = z.string().meta({ description: 'CAIP-2 id, or its name in version 1.' })

/** The body of `/verify` and `/settle` in x402, versions 1 and 2. Servers may send more members. */
export const facilitatorBody = z.looseObject({
  paymentPayload: z
    .looseObject({
      x402Version: z.union([z.literal(1), z.literal(2)], { error: 'must be 1 or 2' }),
      accepted: z.looseObject({ scheme: z.string(), network: facilitatorNetwork }).nullish(),
      scheme: z.string().nullish().meta({ description: 'In version 1.' }),
      network: facilitatorNetwork.nullish(),
      payload: z.looseObject({
        transaction: z
          .string()
          .transform(asRead(parseTransaction, 'must be a transaction in base64'))
          .meta({ description: 'Signed by the payer. The signature of the fee payer is missing.' }),
      }),
    })
    .meta({ description: "The client's payment." }),
  paymentRequirements: z
    .looseObject({
      scheme: z.string(),
      network: facilitatorNetwork,
      amount: baseUnits.nullish(),
      maxAmountRequired: baseUnits.nullish().meta({ description: 'The amount in version 1.' }),
      asset: z.string().meta({ description: 'Address of the mint.' }),
      payTo: address,
      extra: z.looseObject({ feePayer: z.string().nullish(), memo: z.string().nullish() }).nullish(),
    })
    .meta({ description: 'The payment that the selling server requires.' }),
})
export type FacilitatorBody = z.output<typeof facilitatorBody>
