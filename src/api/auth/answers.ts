/** Schemas of the sign-in responses, from which `/openapi.json` is made. Tests validate every response against them. */
import { z } from 'zod'
import { moment } from '../http/answers.ts'

const wallet = z.string().meta({ description: 'The signed-in wallet.' })
const owner = z.boolean().meta({ description: 'Whether it may read the analytics.' })
export const signInMessage = z
  .strictObject({ message: z.string(), nonce: z.string(), expiresAt: moment })
  .meta({ id: 'SignInMessage' })
export const session = z
  .strictObject({
    token: z.string().meta({ description: 'For `Authorization: Bearer`.' }),
    expiresAt: moment,
    wallet,
    owner,
  })
  .meta({ id: 'Session' })
export const signedIn = z
  .union([
    z.strictObject({ signedIn: z.literal(true), wallet, owner, expiresAt: moment }),
    z.strictObject({ signedIn: z.literal(false) }),
  ])
  .meta({ id: 'SignedIn' })
export const signedOut = z.strictObject({ signedOut: z.boolean() }).meta({ id: 'SignedOut' })
