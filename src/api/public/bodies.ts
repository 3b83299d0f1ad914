/** Schemas of the public request bodies. They parse the bodies, and `/openapi.json` is made from them. */
import { z } from 'zod'
import { decodeSignature } from '../../core/encoding/base58.ts'
import { requestIdPattern } from '../../core/protocol/request-id.ts'
import { token } from '../http/answers.ts'
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
