/** Schemas of the sign-in request bodies. They parse the bodies, and `/openapi.json` is made from them. */
import { z } from 'zod'
import { decodeAddress } from '../../core/encoding/base58.ts'
import { readBase64, readSignature } from './signed-text.ts'

const wallet = z
  .string()
  .refine((text) => decodeAddress(text) !== undefined, 'must be a wallet address in base58')
  .meta({ description: 'The wallet that signs in.' })

export const signature = z
  .string()
  .refine((text) => readSignature(text) !== undefined, 'must be 64 bytes in base58 or base64')
  .meta({ description: 'Ed25519, in base58 or base64.' })
export const signedMessage = z
  .string()
  .refine((text) => readBase64(text) !== undefined, 'must be in base64')
  .nullish()
  .meta({ description: 'The signed bytes in base64, if the wallet adds a header to the message.' })

/** Unknown keys are ignored, because wallets send additional ones. */
export const signInBodies = {
  nonce: z.object({ address: wallet }),
  signIn: z.object({
    address: wallet,
    message: z.string().min(1, 'must be the message, unchanged').meta({ description: 'The message, unchanged.' }),
    signature,
    signedMessage,
  }),
}
