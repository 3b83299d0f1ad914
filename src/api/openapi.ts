/**
 * `/openapi.json`: the service's own endpoints, from the schemas that parse their input, and the resources with their
 * prices.
 */
import { z } from 'zod'
import { parseDecimal } from '../core/money/money.ts'
import { findDecimals, findMint, type MintTable } from '../core/money/tokens.ts'
import { refusals } from '../core/payment/refusals.ts'
import type { CatalogEntry } from '../paywall/runtime/catalog.ts'
import { problemBody } from './http/answers.ts'
import type { Documented } from './http/route.ts'
import { type DiscoveryParts, formatOffer } from './public/discovery.ts'

type Json = Record<string, unknown>

export function openapiDocument(parts: DiscoveryParts, documented: readonly Documented[]): Json {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  const put = (path: string, method: string, operation: Json): void => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  }
  for (const entry of parts.service.catalog.entries()) {
    if (entry.path === undefined) continue
    for (const method of entry.methods) put(formatPath(entry.path), method, paidOperation(parts, entry))
  }
  // Fixed endpoints match first, so they win if both have the same path.
  for (const one of documented) put(one.path, one.method, ownOperation(one, schemas))
  return {
    openapi: '3.1.0',
    info: {
      title: `paystile service ${parts.service.config.service}`,
      version: '1',
      description: `Paid per request on Solana ${parts.service.config.network}. An unpaid request gets 402 with a payment challenge.`,
    },
    servers: [{ url: parts.publicUrl ?? '/' }],
    paths,
    components: {
      schemas: { ...schemas, Problem: createSchema(problemBody, 'output') },
      securitySchemes: {
        wallet: {
          type: 'http',
          scheme: 'bearer',
          description: 'POST /sign-in/nonce, sign the message with the wallet, POST /sign-in.',
        },
        paymentProof: { type: 'apiKey', in: 'header', name: 'Payment-Proof' },
      },
    },
  }
}

/** Each schema is converted once: the document is public, and the conversion is nearly all of its cost. */
const made = { input: new WeakMap<z.ZodType, Json>(), output: new WeakMap<z.ZodType, Json>() }

function createSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const before = made[io].get(schema)
  if (before) return before
  const {
    $schema: _schema,
    id: _id,
    ...rest
  } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as Json
  const plain = inline(rest)
  made[io].set(schema, plain)
  return plain
}

/** Replaces references to named schemas by the schemas. */
function inline(schema: Json): Json {
  const { $defs = {}, ...root } = schema
  const defs = $defs as Json
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    const { $ref, id: _id, ...rest } = value as Json
    const name = typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
    const found = name === undefined ? {} : (walk(defs[name]) as Json)
    return Object.fromEntries([...Object.entries(found), ...Object.entries(rest).map(([key, one]) => [key, walk(one)])])
  }
  return walk(root) as Json
}

const problemAnswer = (description: string): Json => ({
  description,
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
})

function ownOperation({ path, summary, isPrivate, query, body, answer, type }: Documented, schemas: Json): Json {
  const name = answer?.meta()?.['id']
  if (answer && typeof name === 'string') schemas[name] = createSchema(answer, 'output')
  const content = answer
    ? { 'application/json': { schema: typeof name === 'string' ? { $ref: `#/components/schemas/${name}` } : {} } }
    : { [type ?? 'application/json']: {} }
  const parameters = [...pathParameters(path), ...(query ? queryParameters(query) : [])]
  return {
    summary,
    tags: ['service'],
    ...(isPrivate && { security: [{ wallet: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: createSchema(body, 'input') } } },
    }),
    responses: {
      200: { description: 'OK', content },
      ...((query ?? body) && { 400: problemAnswer('The request is invalid; lists all problems') }),
      ...(isPrivate && { 401: problemAnswer('Sign in with a wallet that owns this service') }),
    },
  }
}

function queryParameters(query: z.ZodObject): readonly Json[] {
  const { properties = {}, required = [] } = createSchema(query, 'input') as { properties?: Json; required?: string[] }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

/** Converts `/api/:resource` to the notation of OpenAPI. */
function formatPath(path: string): string {
  return path.replace(/:([A-Za-z_]\w*)/g, '{$1}')
}

function pathParameters(path: string): readonly Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function paidOperation({ service, mints }: DiscoveryParts, entry: CatalogEntry): Json {
  const { price, token, per, acceptedMints, recipient } = formatOffer(entry)
  const { network } = service.config
  const parameters = pathParameters(formatPath(entry.path ?? ''))
  return {
    summary: entry.description ?? 'Paid resource',
    tags: ['paid'],
    security: [{ paymentProof: [] }],
    ...(parameters.length > 0 && { parameters }),
    'x-payment-info': {
      ...chargeOf(entry),
      ...{ price, token, per, acceptedMints, mints: minted(entry, mints()), network, recipient },
    },
    responses: {
      200: { description: 'The resource' },
      402: {
        description: 'Payment required: the challenge',
        content: { 'application/json': { schema: challengeSchema } },
      },
      403: problemAnswer('The proof is invalid or expired'),
      409: problemAnswer(refusals.payment_replay.title),
    },
  }
}

/** The members that MPP defines: the amount in base units. It sells only single requests. */
function chargeOf({ price, token, per, mints }: CatalogEntry): Json {
  if (per.unit !== 'request' || per.amount !== 1) return {}
  const [decimals, mint] = [findDecimals(token, mints), findMint(token, mints)]
  if (decimals === undefined || (!mint && token !== 'SOL')) return {}
  const units = price === undefined ? undefined : parseDecimal(price, decimals)
  return { method: 'solana', intent: 'charge', currency: mint?.address ?? 'sol', amount: units?.toString() ?? null }
}

function minted({ acceptedMints }: CatalogEntry, mints: MintTable): Json {
  const entries = Object.entries(mints).filter(([code]) => acceptedMints.some((accepted) => accepted === code))
  return Object.fromEntries(entries.map(([code, mint]) => [code, mint.address]))
}

const challengeSchema: Json = {
  type: 'object',
  required: ['requestId', 'recipient', 'amount', 'currency', 'acceptedMints', 'instructions'],
  properties: {
    status: { type: 'integer', const: 402 },
    requestId: { type: 'string' },
    recipient: { type: 'string' },
    amount: { type: 'string' },
    currency: { type: 'string' },
    acceptedMints: { type: 'array', items: { type: 'string' } },
    instructions: { type: 'string' },
    amounts: { type: 'object', additionalProperties: { type: 'string' } },
    expiresAt: { type: 'string' },
  },
}
