/** Problems of options: one sentence each, with its place and the nearest known name. */
import { z } from 'zod'
import { nearest } from '../../core/errors/suggest.ts'

/** The path of a value: `['routes', 2, 'price']`. */
export type Place = readonly (string | number)[]

export interface OptionProblem {
  readonly place: Place
  readonly why: string
  /** True if the name itself is wrong. */
  readonly isName?: boolean
  /** The environment variable that the value comes from. */
  readonly variable?: string
}

export type OptionsReading<Value> =
  | { readonly kind: 'options'; readonly options: Value }
  | { readonly kind: 'problems'; readonly problems: readonly OptionProblem[] }

/** Options that can contain a password or a key, even if they are invalid. */
const unshown: readonly unknown[] = [
  ...['secret', 'ledger', 'rpc', 'publicUrl', 'rates', 'venue', 'webhooks', 'sheets', 'key'],
  ...['accountKey', 'faucetKey', 'refundKey', 'settlementKey'],
]

/** The origin of the options. Messages about a file show few values, because many of them are secrets. */
export type Origin = 'program' | 'file'

/** Parses options by their schema, and lists all problems at once. */
export function parseOptions<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
  origin: Origin = 'program',
): OptionsReading<z.output<Schema>> {
  const reading = schema.safeParse(given, { reportInput: true, error: (issue) => describe(issue, origin) })
  if (reading.success) return { kind: 'options', options: reading.data }
  return { kind: 'problems', problems: reading.error.issues.flatMap((issue) => explain(issue, schema, origin)) }
}

/** `rates.SOL: must be …`. */
export function formatProblem({ place, why }: OptionProblem): string {
  return `${place.join('.')}: ${why}`
}

/** The message for an issue without a message in the schema. */
function describe(issue: z.core.$ZodRawIssue, origin: Origin): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  const expected = issue.code === 'invalid_type' ? issue.expected : undefined
  if (expected === 'string') return 'must be text'
  if (expected === 'array') return 'must be a list'
  return origin === 'file' ? 'must be an object of names and values' : 'must be an object'
}

function explain(issue: z.core.$ZodIssue, schema: unknown, origin: Origin): readonly OptionProblem[] {
  const place = issue.path as Place
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const guess = nearest(key, listNames(schema, place))
      return { place: [...place, key], why: `is not an option${guess ? `; did you mean ${guess}?` : ''}`, isName: true }
    })
  }
  const inner = issue.code === 'invalid_union' ? findClosest(issue) : undefined
  if (inner) return inner.flatMap((one) => explain({ ...one, path: [...issue.path, ...one.path] }, schema, origin))
  if (issue.input === undefined) return [{ place, why: explainMissing(place) }]
  if (origin === 'file' && issue.code === 'invalid_type' && issue.expected === 'string')
    return [{ place, why: typeof issue.input === 'object' ? 'must be text' : 'must be text: put it in quotes' }]
  const value = place.some((part) => unshown.includes(part)) ? undefined : quote(issue.input)
  if (!issue.message.startsWith('must'))
    return [{ place, why: value === undefined ? issue.message : `${value} ${issue.message}` }]
  const not = value === undefined || origin === 'file' ? '' : `, not ${value}`
  return [{ place, why: `${issue.message}${not}${guessCase(issue, origin)}` }]
}

/** Options that every service sets, with a value to begin with. */
const firstValues: Readonly<Record<string, string>> = {
  price: 'set a decimal such as 0.01',
  recipient: 'set it, or PAYSTILE_RECIPIENT, to the address of your wallet',
  routes: 'list at least one path with its price',
}

export function explainMissing(place: Place): string {
  const remedy = place.length === 1 ? firstValues[String(place[0])] : undefined
  return remedy === undefined ? 'is missing' : `is missing; ${remedy}`
}

/** The problems of the union member that the given object resembles most. */
function findClosest({ input, errors }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  const [first, second] = errors
    .filter((issues) => issues.every(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'))
    .sort((left, right) => left.length - right.length)
  return first && first.length < (second?.length ?? Number.POSITIVE_INFINITY) ? first : undefined
}

function guessCase(issue: z.core.$ZodIssue, origin: Origin): string {
  const choices =
    issue.code === 'invalid_value' ? issue.values : issue.code === 'custom' ? issue.params?.['choices'] : []
  if (!Array.isArray(choices) || typeof issue.input !== 'string') return ''
  const given = issue.input.trim().toLowerCase()
  const choice = choices.map(String).find((value) => value.toLowerCase() === given)
  return choice === undefined ? '' : `; did you mean ${origin === 'file' ? choice : JSON.stringify(choice)}?`
}

/**
 * A wrong value, so that its author recognizes it. Of a long text only the start is shown: it may be a misplaced key.
 */
function quote(value: unknown): string | undefined {
  if (typeof value === 'string') return JSON.stringify(value.length > 50 ? `${value.slice(0, 8)}…` : value)
  return typeof value === 'object' || typeof value === 'function' ? undefined : String(value)
}

/** The names that a schema has at a path. */
function listNames(schema: unknown, place: Place): readonly string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodReadonly)
    return listNames(schema.unwrap(), place)
  if (schema instanceof z.ZodPipe) return listNames(schema.in, place)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((choice) => listNames(choice, place))
  const [name, ...rest] = place
  if (schema instanceof z.ZodArray) return name === undefined ? [] : listNames(schema.element, rest)
  if (schema instanceof z.ZodRecord) return name === undefined ? [] : listNames(schema.valueType, rest)
  if (!(schema instanceof z.ZodObject)) return []
  return name === undefined ? Object.keys(schema.shape) : listNames(schema.shape[name], rest)
}
