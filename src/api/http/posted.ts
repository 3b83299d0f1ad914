/** What was posted, read by its schema, or the answer that says what is wrong with it. */
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
