/**
 * The shape of a gateway's configuration, from which the JSON Schema for editors is made.
 *
 * It knows names and kinds. Whether a price can be charged, a mint exists or a key is long enough is judged where the
 * paywall reads its options, so that there is one judge.
 */
import { z } from 'zod'
import { isHttpUrl } from '../../core/encoding/http.ts'
import { networks, tokenCodes } from '../../core/money/tokens.ts'
import { ledgerEventKinds } from '../../core/ports/outbox.ts'
import { envelopes } from '../../paywall/config/envelope.ts'
import type { Place } from './problems.ts'

const token = z.enum(tokenCodes)
const flag = z.boolean({ error: 'must be true or false' })
const text = z.string({
  error: ({ input }) =>
    typeof input === 'number' || typeof input === 'boolean' ? 'must be text: put it in quotes' : 'must be text',
})
const number = z.number({ error: 'must be a number' })
const whole = (least: number, most: number) =>
  number
    .refine(Number.isInteger, { error: 'must be a whole number' })
    .min(least, { error: `must be at least ${least}` })
    .max(most, { error: `must be at most ${most}` })
const secondsFrom = (least: number) =>
  number.min(least, { error: `must be at least ${least}` }).max(86_400, { error: 'must be at most 86400' })
const callback = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'must be a function')
const amount = z.union([number, text], { error: 'must be a number or decimal text' })
const names = z.array(text, { error: 'must be a list of names' })
const anything = z.custom<unknown>((value) => value !== undefined)

export const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const header = text.regex(headerName, { error: 'must be the name of a header' })

const upstream = text
  .refine((url) => isHttpUrl(url), { error: 'must be an http or https address such as http://127.0.0.1:3000' })
  .refine((url) => !isHttpUrl(url) || !/[?#]/.test(url), { error: 'must not have a query' })

const timeouts = z.strictObject({
  connectSeconds: secondsFrom(0.1).optional(),
  answerSeconds: secondsFrom(0.1).optional(),
  idleSeconds: secondsFrom(0).optional(),
})

const forwarding = {
  upstream: upstream.optional(),
  headers: z
    .record(z.string(), text.regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: 'must be one line of text' }), {
      error: 'must be names with values',
    })
    .optional(),
  forward: z.array(header, { error: 'must be a list of names of headers' }).optional(),
  preserveHost: flag.optional(),
  timeouts: timeouts.optional(),
  probe: z
    .strictObject({
      path: text.regex(/^\/[!-~]*$/, { error: 'must be a path such as /healthz' }).optional(),
      seconds: secondsFrom(0.01).optional(),
    })
    .optional(),
}

/** What the paywall reads itself: only the kind of value is told here. */
const routeOptions = {
  token: token.optional(),
  recipient: text.optional(),
  acceptedMints: z.array(token, { error: 'must be a list of token codes' }).optional(),
  per: z
    .union(
      [
        z.enum(['request', 'megabyte', 'minute', 'hour', 'day']),
        z.strictObject({ seconds: number }),
        z.strictObject({ requests: number }),
      ],
      { error: "must be 'request', 'megabyte', { seconds } or { requests }" },
    )
    .optional(),
  size: z.union([number, callback], { error: 'must be a number of bytes' }).optional(),
  prepay: number.optional(),
  description: text.optional(),
  scope: text.optional(),
  bind: z
    .union(
      [
        z.enum(['request', 'path']),
        z.strictObject({ query: names.optional(), headers: names.optional(), body: flag.optional() }),
      ],
      { error: "must be 'request', 'path' or { query: [names], headers: [names], body: true }" },
    )
    .optional(),
  bodyLimitBytes: number.optional(),
  envelope: z.enum(envelopes).optional(),
  proofBinding: z.enum(['negotiated', 'required']).optional(),
  challengeTtlSeconds: number.optional(),
  proofTtlSeconds: number.optional(),
  allowanceTtlSeconds: number.optional(),
  waitSeconds: number.optional(),
  leaseSeconds: number.optional(),
  finalizedFrom: amount.optional(),
  maxUnfinalized: z
    .union([amount, z.strictObject({ recipient: amount.optional(), payer: amount.optional() })], {
      error: 'must be an amount, or { recipient, payer }',
    })
    .optional(),
  settlementToken: token.optional(),
  autoConversion: flag.optional(),
  conversionThreshold: z.record(z.string(), amount, { error: 'must be amounts by token code' }).optional(),
  conversionReserve: z.record(z.string(), amount, { error: 'must be amounts by token code' }).optional(),
  settlementKey: z.union([text, anything], { error: 'must be the path of a key file' }).optional(),
  venue: z.record(z.string(), anything, { error: "must be { kind: 'rfq', url } or { kind: 'jupiter' }" }).optional(),
  cors: flag.optional(),
  checkout: flag.optional(),
  retired: z
    .strictObject({
      recipients: names.optional(),
      scopes: names.optional(),
      binds: z.array(anything, { error: 'must be a list' }).optional(),
    })
    .optional(),
}

export const methodNames = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

export const routeSchema = z.strictObject({
  path: text,
  methods: z.array(z.enum(methodNames), { error: 'must be a list of methods' }).min(1, 'must name a method').optional(),
  price: z.union([number, text, callback], { error: 'must be a number or decimal text' }).optional(),
  free: z
    .union([z.literal(true), z.strictObject({ requests: number, per: anything })], {
      error: 'must be true, or { requests, per }',
    })
    .optional(),
  websocket: flag.optional(),
  partner: text.optional(),
  ...routeOptions,
  ...forwarding,
})

/** A port out of the environment is text. */
const port = z.union(
  [
    whole(0, 65_535),
    text
      .regex(/^\d{1,5}$/)
      .transform(Number)
      .pipe(whole(0, 65_535)),
  ],
  {
    error: 'must be a number from 0 to 65535',
  },
)

export const configSchema = z.strictObject({
  network: z.enum(networks).optional(),
  rpc: z.union([text, z.array(text)], { error: 'must be the address of a node, or a list of them' }).optional(),
  ledger: z.union([text, anything], { error: 'must be text' }).optional(),
  secret: text.optional(),
  mints: z.record(z.string(), anything, { error: 'must be addresses by token code' }).optional(),
  accountKey: z.union([text, anything], { error: 'must be the path of a key file' }).optional(),
  rates: anything.optional(),
  service: text.optional(),
  publicUrl: text.optional(),
  trustProxy: number.optional(),
  verifyOnChain: flag.optional(),
  watch: flag.optional(),
  onEvent: callback.optional(),
  log: anything.optional(),
  ...routeOptions,
  ...forwarding,
  listen: z.strictObject({ host: text.min(1, 'must name a host').optional(), port: port.optional() }).optional(),
  limits: z
    .strictObject({
      connections: whole(1, 1_000_000).optional(),
      headSeconds: secondsFrom(1).optional(),
      requestSeconds: secondsFrom(1).optional(),
    })
    .optional(),
  faucetKey: z.union([text, anything], { error: 'must be the path of a key file' }).optional(),
  refundKey: z.union([text, anything], { error: 'must be the path of a key file' }).optional(),
  owners: z.array(text, { error: 'must be a list of wallet addresses' }).optional(),
  reportToken: token.optional(),
  metrics: z.enum(['owners', 'open']).optional(),
  origins: names.optional(),
  sheets: z.record(z.string(), anything, { error: 'must be names with values' }).optional(),
  rewards: z.record(z.string(), anything, { error: 'must be names with values' }).optional(),
  webhooks: z
    .array(
      z.strictObject({
        url: text.refine((url) => isHttpUrl(url), { error: 'must be an http or https address' }),
        secret: text.optional(),
        events: z.array(z.enum(ledgerEventKinds), { error: 'must be a list of events' }).optional(),
        allowPrivate: flag.optional(),
      }),
      { error: 'must be a list of { url, secret }' },
    )
    .optional(),
  routes: z.array(routeSchema, { error: 'must be a list of routes' }).min(1, 'must have a route'),
})

export type ReadConfig = z.infer<typeof configSchema>

/** For editors: `# yaml-language-server: $schema=…`. Functions are for TypeScript and have no place in it. */
export function jsonSchema(): object {
  return z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema: part }) => {
      const choices = part.anyOf?.filter((choice) => Object.keys(choice).length > 0)
      if (choices) part.anyOf = choices
    },
  })
}

/** The names that may stand at a place of the configuration. */
export function namesAt(place: Place): readonly string[] {
  let schema: unknown = configSchema
  for (const part of place) {
    const inner = bare(schema)
    if (inner instanceof z.ZodArray) schema = inner.element
    else if (inner instanceof z.ZodObject) schema = inner.shape[part]
    else return []
  }
  const found = bare(schema)
  return found instanceof z.ZodObject ? Object.keys(found.shape) : []
}

function bare(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? schema.unwrap() : schema
}
