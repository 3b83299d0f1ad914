/** How what is wrong with a configuration is told: one sentence each, with its place and the nearest known name. */
import type { z } from 'zod'
import { nearest } from '../../core/encoding/suggest.ts'

/** Where a value stands: `['routes', 2, 'price']`. */
export type Place = readonly (string | number)[]

export interface Problem {
  readonly place: Place
  /** What is wrong with what stands there. */
  readonly why: string
  /** True where the name itself is what is wrong. */
  readonly isName?: boolean
}

/** `routes[2].price`. */
export function nameRoute(place: Place): string {
  return place.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  )
}

/** What has no sentence of its own in the schema. */
export function describeIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  const expected = issue.code === 'invalid_type' ? issue.expected : undefined
  return expected === 'object' || expected === 'record'
    ? 'must be names with values'
    : `must be ${expected ?? 'another'}`
}

/** Looks up the names that may stand at a place. */
export type NamesAt = (place: Place) => readonly string[]

/** One issue of the schema may be about several names. */
export function readIssue(issue: z.core.$ZodIssue, namesAt: NamesAt): readonly Problem[] {
  const place = issue.path as Place
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const guess = nearest(key, namesAt(place))
      const why = `is not an option${guess === undefined ? '' : `; did you mean ${guess}?`}`
      return { place: [...place, key], why, isName: true }
    })
  }
  if (issue.input === undefined) return [{ place, why: 'is missing' }]
  return [{ place, why: `${issue.message}${meant(issue)}` }]
}

/** Values are not repeated, since they may be secrets; only a slip of the shift key is worth telling. */
function meant(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') return ''
  const { input } = issue
  const choice = issue.values.map(String).find((value) => value.toLowerCase() === input.trim().toLowerCase())
  return choice === undefined ? '' : `; did you mean ${choice}?`
}
