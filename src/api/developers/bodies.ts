import { z } from 'zod'
import { signature, signedMessage } from '../auth/bodies.ts'
import { asRead } from '../http/inputs.ts'
import { address } from '../http/queries.ts'

const host = z
  .string()
  .min(1, 'must be a host such as api.example.com')
  .max(300, 'must be a host such as api.example.com')
  .meta({ description: 'The host: lower case, Punycode, with a port only if it is not the default.' })
const issuedAt = z
  .string()
  .transform(asRead(parseMoment, 'must be the time in the message, such as 2026-01-31T12:00:00.000Z'))
  .meta({ description: 'The time in the signed message.' })
/** Parses a time in the format of the message, to the millisecond. */
function parseMoment(text: string): number | undefined {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString() === text ? time : undefined
}

export const developerBody = z.strictObject({ host, wallet: address, issuedAt, signature, signedMessage })
export type DeveloperBody = z.output<typeof developerBody>

export const revokeBody = z
  .strictObject({
    host,
    wallet: address.optional(),
    issuedAt: issuedAt.optional(),
    signature: signature.optional(),
    signedMessage,
  })
  .refine(
    ({ wallet, issuedAt, signature }) =>
      [wallet, issuedAt, signature].every((part) => part === undefined) ||
      [wallet, issuedAt, signature].every((part) => part !== undefined),
    { error: 'wallet, issuedAt and signature must be given together' },
  )
