/** Reads parameters from a request. Invalid ones are refused with a validator's messages. */
import { decodeAddress, decodeSignature } from '../../../core/encoding/base58.ts'
import type { Commitment } from '../../bank/commitment.ts'
import { invalidParams } from './errors.ts'

export type Params = readonly unknown[]
export type Config = Readonly<Record<string, unknown>>

export function readParams(params: unknown): Params {
  if (params === undefined || params === null) return []
  if (Array.isArray(params)) return params
  throw invalidParams('Invalid params: invalid type: map, expected a sequence.')
}

export function requireParams(params: Params, count: number): void {
  if (params.length < count) throw invalidParams(`\`params\` should have at least ${count} argument(s)`)
}

export function readText(value: unknown): string {
  if (typeof value !== 'string') throw wrongType(value, 'a string')
  return value
}

export function readAddress(value: unknown): string {
  const text = readText(value)
  if (text.length > 44) throw invalidParams('Invalid param: WrongSize')
  if (decodeAddress(text) === undefined)
    throw invalidParams(/^[1-9A-HJ-NP-Za-km-z]*$/.test(text) ? 'Invalid param: WrongSize' : 'Invalid param: Invalid')
  return text
}

export function readSignature(value: unknown): string {
  const text = readText(value)
  if (decodeSignature(text) === undefined)
    throw invalidParams(/^[1-9A-HJ-NP-Za-km-z]*$/.test(text) ? 'Invalid param: WrongSize' : 'Invalid param: Invalid')
  return text
}

export function readConfig(value: unknown): Config {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongType(value, 'a configuration object')
  return value as Config
}

export function readBoolean(config: Config, key: string, fallback: boolean): boolean {
  const value = config[key]
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'boolean') throw wrongType(value, 'a boolean')
  return value
}

/** An unsigned integer within a JavaScript number: slots, counts, offsets. */
export function readInteger(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  // Larger than any possible slot, so the caller's comparison has the same result.
  if (typeof value === 'bigint' && value >= 0n && value < 2n ** 64n) return Number(value)
  throw wrongType(value, 'u64')
}

export function readU64(value: unknown): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  if (typeof value === 'bigint' && value >= 0n && value < 2n ** 64n) return value
  throw wrongType(value, 'u64')
}

export function readOptionalInteger(config: Config, key: string): number | undefined {
  const value = config[key]
  return value === undefined || value === null ? undefined : readInteger(value)
}

export function readChoice<T extends string>(value: unknown, choices: readonly T[], fallback: T): T {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'string') throw wrongType(value, 'a string')
  const choice = choices.find((one) => one === value)
  if (choice !== undefined) return choice
  const names = choices.map((one) => `\`${one}\``)
  throw invalidParams(`Invalid params: unknown variant \`${value}\`, expected one of ${names.join(', ')}.`)
}

const commitments: readonly Commitment[] = ['processed', 'confirmed', 'finalized']

/** An unknown commitment is ignored, as by validators, and the default applies. */
export function readCommitment(config: Config, fallback: Commitment = 'finalized'): Commitment {
  return commitments.find((one) => one === config['commitment']) ?? fallback
}

/** For methods in which a validator rejects an unknown commitment. */
export function readStrictCommitment(value: unknown, fallback: Commitment): Commitment {
  return readChoice(value, commitments, fallback)
}

export function wrongType(value: unknown, expected: string): Error {
  return invalidParams(`Invalid params: invalid type: ${describe(value)}, expected ${expected}.`)
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'boolean') return `boolean \`${value}\``
  if (typeof value === 'bigint') return `integer \`${value}\``
  if (typeof value === 'number') return Number.isInteger(value) ? `integer \`${value}\`` : `floating point \`${value}\``
  if (typeof value === 'string') return `string ${JSON.stringify(value)}`
  return Array.isArray(value) ? 'sequence' : 'map'
}
