/** Parses a posted body with its schema, or returns the error response. */
import type { z } from 'zod'
import { problem } from './errors.ts'
import { readInput } from './inputs.ts'
import { readJsonBody } from './request-body.ts'

export async function readPosted<Shape extends z.ZodRawShape>(
  request: Request,
  schema: z.ZodObject<Shape>,
): Promise<z.output<z.ZodObject<Shape>> | Response> {
  const body = await readJsonBody(request)
  if (body.kind === 'wrong') return problem(body.code, { detail: body.detail })
  const reading = readInput(schema, body.value)
  return reading.kind === 'input' ? reading.input : problem('body_invalid', { problems: reading.problems })
}
