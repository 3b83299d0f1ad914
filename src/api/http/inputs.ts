/** Parses requests with the schemas of `/openapi.json`. It reports all problems at once. */
import { z } from 'zod'
import { nearest } from '../../core/errors/suggest.ts'

export type Input<Value> =
  | { readonly kind: 'input'; readonly input: Value }
  /** One sentence each, with the valid alternative. */
  | { readonly kind: 'problems'; readonly problems: readonly string[] }

export function readQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  params: URLSearchParams,
): Input<z.output<z.ZodObject<Shape>>> {
  const names = [...new Set(params.keys())]
  const doubled = names.filter((name) => params.getAll(name).length > 1)
  const reading = readInput(schema, Object.fromEntries(params))
  if (doubled.length === 0) return reading
  const twice = doubled.map((name) => `${shorten(name)} appears more than once`)
  return { kind: 'problems', problems: [...twice, ...(reading.kind === 'problems' ? reading.problems : [])] }
}

export function readInput<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  value: unknown,
): Input<z.output<z.ZodObject<Shape>>> {
  const reading = schema.safeParse(value, { reportInput: true, error: describe })
  if (reading.success) return { kind: 'input', input: reading.data }
  return {
    kind: 'problems',
    problems: reading.error.issues.flatMap((issue) => explain(issue, Object.keys(schema.shape))),
  }
}

function explain(issue: z.core.$ZodIssue, known: readonly string[]): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const guess = nearest(key, known)
      const mend = guess === undefined ? `supported are ${known.join(', ')}` : `did you mean ${guess}?`
      return `${shorten(key)} is unknown; ${mend}`
    })
  }
  const name = issue.path.join('.')
  if (issue.path.length === 0) return [issue.code === 'custom' ? issue.message : 'the body must be a JSON object']
  return [issue.input === undefined ? `${name} is missing` : `${name} ${issue.message}`]
}

/** The text for issues without a sentence in the schema. */
function describe(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  return issue.code === 'invalid_type' && issue.expected === 'string' ? 'must be text' : 'is invalid'
}

/** A name from the request, so that the sender recognizes it. It is written to JSON only. */
function shorten(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name
}

/** Lets a schema report a text that `read` cannot parse. */
export function asRead<Value>(read: (text: string) => Value | undefined, otherwise: string) {
  return (text: string, context: z.core.$RefinementCtx<string>): Value => {
    const value = read(text)
    if (value !== undefined) return value
    context.issues.push({ code: 'custom', message: otherwise, input: text })
    return z.NEVER
  }
}
