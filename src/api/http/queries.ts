/** Schemas that several queries share. */
import { z } from 'zod'
import { decodeAddress } from '../../core/encoding/base58.ts'
import { asRead } from './inputs.ts'

const usualPageSize = 50
const mostPerPage = 500

export const limit = (what: string) =>
  z
    .string()
    .transform(asRead(parseLimit, `must be a whole number from 1 to ${mostPerPage}`))
    .default(usualPageSize)
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: mostPerPage,
      description: `${what} per page; ${usualPageSize} by default.`,
    })

export function cursorBy<Mark>(readCursor: (text: string) => Mark | undefined) {
  return z
    .string()
    .transform(asRead(readCursor, 'must be a cursor from this service; start again without it'))
    .optional()
}

function parseLimit(text: string): number | undefined {
  return /^[1-9]\d{0,2}$/.test(text) && Number(text) <= mostPerPage ? Number(text) : undefined
}

export const noQuery = z.strictObject({})

export const address = z.string().refine((text) => decodeAddress(text) !== undefined, 'must be a Solana address')
