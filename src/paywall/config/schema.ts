/** The shape of a provider's options, and how what is wrong with them is told. */
import { z } from 'zod'
import { isHttpUrl } from '../../core/encoding/http.ts'
import { nearest } from '../../core/encoding/suggest.ts'
import { isUnspendable, networks, tokenCodes } from '../../core/money/tokens.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import { parseLedgerUrl } from '../../core/ports/ledger-url.ts'
import { usualProofTtlSeconds } from '../../core/protocol/proof.ts'
import type { Log } from '../../core/runtime.ts'
import type { Bind, BoundParts } from './binding.ts'
import { reserveOption, thresholdOption, venueOption } from './conversion.ts'
import { parseEndpoint } from './endpoint.ts'
import { envelopes } from './envelope.ts'
import { accountKeyOption, address, mintsOption } from './mints.ts'

const wallet = address.refine(
  (text) => !isUnspendable(text),
  'is a program or a mint, not a wallet: nobody could spend it',
)
const token = z.enum(tokenCodes)
const seconds = (least: number, most: number) =>
  z
    .number({ error: 'must be a number of seconds' })
    .min(least, { error: `must be at least ${least}` })
    .max(most, { error: `must be at most ${most}` })
export const wholeSeconds = (least: number, most: number) =>
  seconds(least, most).refine(Number.isInteger, { error: 'must be a whole number of seconds' })
const notLabel = 'must be 1 to 64 printable characters without spaces'
const label = z.string(notLabel).regex(/^[\x21-\x7e]{1,64}$/, notLabel)
const notEndpoint = "must be a path such as '/api/weather', with its method before it if you like: 'GET /api/weather'"
const flag = z.boolean({ error: 'must be true or false' })
const nodeUrl = z.string().refine(isHttpUrl, { error: 'must be an http or https URL' })
const callback = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'must be a function')
const headerName = z
  .string('must be the name of a header')
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, 'must be the name of a header')
  .transform((name) => name.toLowerCase())
const bind = z
  .union(
    [
      z.enum(['request', 'path']),
      z.strictObject({
        query: z.array(z.string()).max(32).optional(),
        headers: z.array(headerName).max(32).optional(),
        body: flag.optional(),
      }),
    ],
    { error: "must be 'request', 'path' or { query: [names], headers: [names], body: true }" },
  )
  .transform(asBind)

export const schema = z.strictObject({
  price: z.unknown(),
  token,
  recipient: wallet,
  verifyOnChain: flag.default(true),
  network: z.enum(networks).default('mainnet'),
  acceptedMints: z.array(token, { error: 'must be a list of token codes' }).min(1, 'must name a token').optional(),
  settlementToken: token.optional(),
  autoConversion: flag.default(false),
  conversionThreshold: thresholdOption,
  conversionReserve: reserveOption,
  settlementKey: accountKeyOption,
  venue: venueOption,
  rpc: z
    .union([nodeUrl, z.array(nodeUrl)], { error: 'must be the http or https URL of a node, or a list of them' })
    .optional(),
  ledger: z
    .custom<string | Ledger>(
      isLedgerOption,
      'must be a file path, sqlite: and a path, postgres: and an address, memory: or a ledger',
    )
    .optional(),
  secret: z.string().optional(),
  mints: mintsOption,
  accountKey: accountKeyOption,
  rates: z.unknown().optional(),
  service: label.default('default'),
  scope: label.optional(),
  publicUrl: z.string().refine(isPublicUrl, { error: 'must be an http or https URL without query' }).optional(),
  per: z.unknown().optional(),
  size: z.unknown().optional(),
  prepay: z.unknown().optional(),
  free: z.unknown().optional(),
  bind: bind.default('request'),
  rawBody: callback.optional(),
  bodyLimitBytes: z
    .int({ error: 'must be a whole number of bytes' })
    .min(1, { error: 'must be at least 1' })
    .max(100_000_000, { error: 'must be at most 100000000' })
    .default(1_000_000),
  proofBinding: z.enum(['negotiated', 'required']).default('negotiated'),
  challengeTtlSeconds: wholeSeconds(120, 86_400).default(300),
  proofTtlSeconds: wholeSeconds(60, 30 * 86_400).default(usualProofTtlSeconds),
  allowanceTtlSeconds: wholeSeconds(60, 10 * 365 * 86_400).default(30 * 86_400),
  waitSeconds: seconds(0, 60).default(10),
  leaseSeconds: seconds(0.1, 3600).default(30),
  finalizedFrom: z.unknown().optional(),
  maxUnfinalized: z.unknown().optional(),
  watch: flag.default(true),
  trustProxy: z
    .int({ error: 'must be the number of proxies in front' })
    .min(0, { error: 'must be at least 0' })
    .max(16, { error: 'must be at most 16' })
    .default(0),
  endpoint: z
    .string(notEndpoint)
    .transform((text, context) => {
      const endpoint = parseEndpoint(text)
      if (!endpoint) context.addIssue({ code: 'custom', message: notEndpoint, input: text })
      return endpoint ?? z.NEVER
    })
    .optional(),
  reportToken: token.default('USDC'),
  description: z.string().max(200, 'must be at most 200 characters').optional(),
  envelope: z.enum(envelopes).default('none'),
  cors: flag.default(true),
  checkout: flag.default(true),
  retired: z
    .strictObject({
      recipients: z.array(address).default([]),
      scopes: z.array(label).default([]),
      binds: z.array(bind).default([]),
    })
    .default({ recipients: [], scopes: [], binds: [] }),
  onEvent: callback.optional(),
  log: z
    .custom<Log>((value) => typeof value === 'object' && value !== null, 'must be { info, warn, error }')
    .optional(),
})
export type OptionsReading = z.infer<typeof schema>

/** Options that may hold a password or a key, also where they are wrong. */
const unshown: readonly unknown[] = [
  ...['secret', 'ledger', 'rpc', 'publicUrl', 'rates', 'venue'],
  ...['accountKey', 'faucetKey', 'refundKey', 'settlementKey'],
]

/** A sentence for each thing that is wrong. */
export function explain(issue: z.core.$ZodIssue, known = Object.keys(schema.shape)): string[] {
  const path = issue.path.join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const guess = nearest(key, known)
      return `${[path, key].filter(Boolean).join('.')}: is not an option${guess ? `; did you mean ${guess}?` : ''}`
    })
  }
  if (issue.input === undefined) return [`${path}: is missing`]
  const value = unshown.includes(issue.path[0]) ? undefined : show(issue.input)
  if (value === undefined) return [`${path}: ${issue.message}`]
  if (!issue.message.startsWith('must')) return [`${path}: ${value} ${issue.message}`]
  const { input } = issue
  const choices = issue.code === 'invalid_value' ? issue.values.map(String) : []
  const meant = choices.find((choice) => choice.toLowerCase() === String(input).trim().toLowerCase())
  return [`${path}: ${issue.message}, not ${value}${meant ? `; did you mean "${meant}"?` : ''}`]
}

/** What has no sentence of its own in the schema. */
export function describe(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  const expected = issue.code === 'invalid_type' ? issue.expected : undefined
  return `must be ${expected === 'string' ? 'text' : expected === 'array' ? 'a list' : 'an object'}`
}

/** A wrong value for its writer to recognise. Of a long text only the beginning: it may be a key that came to the wrong place. */
function show(value: unknown): string | undefined {
  if (typeof value === 'string') return JSON.stringify(value.length > 50 ? `${value.slice(0, 8)}…` : value)
  return typeof value === 'object' || typeof value === 'function' ? undefined : String(value)
}

/** Zod writes what is left out as undefined. */
function asBind(bind: 'request' | 'path' | { [Part in keyof BoundParts]: BoundParts[Part] | undefined }): Bind {
  if (typeof bind === 'string') return bind
  return Object.freeze(Object.fromEntries(Object.entries(bind).filter(([, value]) => value !== undefined)))
}

function isLedgerOption(value: unknown): boolean {
  if (typeof value === 'string') return parseLedgerUrl(value) !== undefined
  return typeof value === 'object' && value !== null && 'take' in value
}

function isPublicUrl(text: string): boolean {
  if (!isHttpUrl(text)) return false
  const url = new URL(text)
  return url.search === '' && url.hash === '' && url.username === ''
}
