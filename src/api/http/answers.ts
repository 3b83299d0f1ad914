/** Schemas that several responses share. */
import { z } from 'zod'
import { knownCodes, tokenCodePattern } from '../../core/money/tokens.ts'

export const decimal = z.string().meta({ description: 'Plain decimal text; empty if unknown.' })
export const token = z
  .string()
  .regex(tokenCodePattern, `must be one of ${knownCodes.join(', ')}, or a code of the service's own tokens`)
  .meta({ description: 'Token code.', examples: [...knownCodes] })
export const moment = z.string().meta({ description: 'RFC 3339, UTC.' })
export const count = z.int().min(0)

export const check = z.enum(['passed', 'failed', 'unchecked'])

export const problemBody = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    problems: z.array(z.string()).optional(),
  })
  .meta({ id: 'Problem' })
