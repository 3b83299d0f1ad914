/** An object of parsed JSON. Each field is unknown until it is checked. */
import { attempt } from '../errors/attempt.ts'
export type Fields = Readonly<Record<string, unknown>>

/** Undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  return attempt(() => JSON.parse(text))
}

/** Undefined for text that is not a JSON object. */
export function parseFields(text: string): Fields | undefined {
  const value = parseJson(text)
  return isFields(value) ? value : undefined
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
