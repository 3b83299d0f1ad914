/** What may be asked of the service's own addresses: the schemas that read it, and from which `/openapi.json` is made. */
import { z } from 'zod'
import { decodeAddress, decodeSignature } from '../core/encoding/base58.ts'
import { tokenCodes } from '../core/money/tokens.ts'
import type { Capture, CaptureStatus } from '../core/payment/history.ts'
import { captureStatuses } from '../core/payment/history.ts'
import type { CaptureMark, PayerMark } from '../core/ports/reports.ts'
import { problemKinds } from '../core/ports/reports.ts'
import { requestIdPattern } from '../core/protocol/request-id.ts'
import { feedStatuses } from './analytics/format.ts'
import { readBase64, readSignature } from './auth/signed-text.ts'
import { asRead } from './http/inputs.ts'
import { parseTime } from './http/time-text.ts'

const time = (what: string) =>
  z
    .string()
    .transform(
      asRead(parseTime, 'must be a time with its zone (2026-01-31T12:00:00Z), a day (2026-01-31) or milliseconds'),
    )
    .optional()
    .meta({ description: `${what} RFC 3339, a day, or milliseconds since 1970.` })

const from = time('From this moment on, by the time of the block.')
const to = time('Before this moment.')
const wrongEndpoint = 'must be 1 to 2048 characters, as the list shows it'
const endpoint = z
  .string()
  .min(1, wrongEndpoint)
  .max(2_048, wrongEndpoint)
  .optional()
  .meta({ description: 'What was paid for, as the list shows it.', examples: ['/api/weather'] })
const statuses = [...captureStatuses, ...Object.values(feedStatuses)] as const
const status = z
  .enum(statuses)
  .transform(
    (one) =>
      (captureStatuses.find((known) => known === one || feedStatuses[known] === one) ?? 'pending') as CaptureStatus,
  )
  .optional()
  .meta({ description: 'Either spelling of the verification status.' })

const ordered = { from, to }
const token = z.enum(tokenCodes).optional().meta({ description: 'The token that was paid with.' })
export const states = [
  'unclaimed',
  'confirmed',
  'finalized',
  'late',
  'reverted',
] as const satisfies readonly Capture['state'][]
const state = z.enum(states).optional().meta({ description: 'More than the status tells.' })
const wrongName = 'must be 1 to 128 letters, digits, - or _'
const name = z.string().regex(/^[\w-]{1,128}$/, wrongName)
const payer = name.optional().meta({ description: 'Pseudonym of who paid, as the list shows it.' })
const filter = { ...ordered, endpoint, token, status, state, payer }
export const filterNames = [
  'from',
  'to',
  'endpoint',
  'token',
  'status',
  'state',
  'payer',
] as const satisfies readonly (keyof typeof filter)[]

function inOrder<Query extends { readonly from?: number | undefined; readonly to?: number | undefined }>(query: Query) {
  return query.from === undefined || query.to === undefined || query.from < query.to
}
const notInOrder = { error: 'from must be before to' }

const views = ['records', 'usage', 'revenue', 'tokens'] as const

const usualPageSize = 50
const mostPerPage = 500

export const limit = (what: string) =>
  z
    .string()
    .transform(asRead(parseLimit, `must be a whole number from 1 to ${mostPerPage}`))
    .default(usualPageSize)
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: mostPerPage,
      description: `${what} per page; ${usualPageSize} by default.`,
    })

function cursorBy<Mark>(readCursor: (text: string) => Mark | undefined) {
  return z
    .string()
    .transform(asRead(readCursor, 'must be one that this service gave; begin again without it'))
    .optional()
}

function parseLimit(text: string): number | undefined {
  return /^[1-9]\d{0,2}$/.test(text) && Number(text) <= mostPerPage ? Number(text) : undefined
}

/** `readCursor` opens what this service wrote; a cursor of anybody else is wrong. */
export function pageQuery(readCursor: (text: string) => CaptureMark | undefined) {
  return z
    .strictObject({
      ...filter,
      order: z.enum(['latest', 'oldest']).default('latest'),
      q: z
        .string()
        .regex(/^[\w-]{1,256}$/, 'must be an id, a transaction, a requestId or its hash, or the pseudonym of a payer')
        .optional()
        .meta({ description: 'An id, a transaction, a requestId or its hash, or the pseudonym of a payer: exactly.' }),
      limit: limit('Records'),
      cursor: cursorBy(readCursor).meta({ description: 'The `next` of the page before, or the `id` of a record.' }),
      view: z.enum(views).optional().meta({ description: 'One part of the answer alone.' }),
    })
    .refine(inOrder, notInOrder)
}
export type PageQuery = z.output<ReturnType<typeof pageQuery>>

/** `readCursor` opens a place in either order. */
export function payersQuery(readCursor: (text: string) => PayerMark | undefined) {
  return z
    .strictObject({
      ...ordered,
      order: z.enum(['revenue', 'latest']).default('revenue'),
      limit: limit('Payers'),
      cursor: cursorBy(readCursor).meta({ description: 'The `next` of the page before, in the same order.' }),
    })
    .refine(inOrder, notInOrder)
    .refine(({ order, cursor }) => !cursor || 'worth' in cursor === (order === 'revenue'), {
      error: 'cursor is of the other order; begin again without it',
    })
}
export type PayersQuery = z.output<ReturnType<typeof payersQuery>>

export function problemsQuery(readCursor: (text: string) => CaptureMark | undefined) {
  return z.strictObject({
    kind: z.enum(problemKinds).optional().meta({ description: 'One kind alone.' }),
    limit: limit('Records'),
    cursor: cursorBy(readCursor).meta({ description: 'The `next` of the page before, or the `id` of a record.' }),
  })
}
export type ProblemsQuery = z.output<ReturnType<typeof problemsQuery>>

/** Which payments an export is to hold; `others` are names that are read elsewhere. */
export function filterQuery(others: readonly string[]) {
  const foreign = Object.fromEntries(others.map((name) => [name, z.string().optional()]))
  return z.strictObject({ ...foreign, ...filter }).refine(inOrder, notInOrder)
}

export const summaryQuery = z.strictObject({ ...ordered }).refine(inOrder, notInOrder)
export type SummaryQuery = z.output<typeof summaryQuery>

export const seriesQuery = z
  .strictObject({ ...ordered, step: z.enum(['hour', 'day']).default('hour'), endpoint })
  .refine(inOrder, notInOrder)
export type SeriesQuery = z.output<typeof seriesQuery>

export const noQuery = z.strictObject({})

const address = z.string().refine((text) => decodeAddress(text) !== undefined, 'must be a Solana address')

export const verifyBody = z
  .strictObject({
    tx: z
      .string()
      .refine((text) => decodeSignature(text) !== undefined, 'must be the signature of a transaction in base58')
      .meta({ description: 'Signature of the payment.' }),
    requestId: z
      .string()
      .regex(requestIdPattern, 'must be the requestId of a challenge')
      .meta({ description: 'From the challenge.' }),
    payer: address.optional().meta({ description: 'Who must have paid.' }),
    recipient: address.optional().meta({ description: 'Who must have been paid.' }),
    amount: z
      .union([z.number(), z.string()], { error: 'must be a number or decimal text' })
      .optional()
      .meta({ description: 'The least that must have been paid, in units of `mint`.' }),
    mint: z.enum(tokenCodes).optional().meta({ description: 'The token code that it must have been paid in.' }),
  })
  .refine(({ amount, mint }) => amount === undefined || mint !== undefined, { error: 'amount needs mint beside it' })
export type VerifyBody = z.output<typeof verifyBody>

const wallet = z
  .string()
  .refine((text) => decodeAddress(text) !== undefined, 'must be the address of a wallet in base58')
  .meta({ description: 'The wallet that signs in.' })

const host = z
  .string()
  .min(1, 'must be a host such as api.example.com')
  .max(300, 'must be a host such as api.example.com')
  .meta({ description: 'The host, as it stands in addresses: lower case, Punycode, a port only where it is unusual.' })
const issuedAt = z
  .string()
  .transform(asRead(parseMoment, 'must be the time in the message, such as 2026-01-31T12:00:00.000Z'))
  .meta({ description: 'The time in the message that was signed.' })
const signature = z
  .string()
  .refine((text) => readSignature(text) !== undefined, 'must be 64 bytes in base58 or base64')
  .meta({ description: 'Ed25519, in base58 or base64.' })
const signedMessage = z
  .string()
  .refine((text) => readBase64(text) !== undefined, 'must be in base64')
  .nullish()
  .meta({ description: 'What was signed, in base64, where a wallet puts a header before the message.' })

/** As the message has it, to the millisecond. */
function parseMoment(text: string): number | undefined {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString() === text ? time : undefined
}

export const developerBody = z.strictObject({ host, wallet: address, issuedAt, signature, signedMessage })
export type DeveloperBody = z.output<typeof developerBody>

export const revokeBody = z
  .strictObject({
    host,
    wallet: address.optional(),
    issuedAt: issuedAt.optional(),
    signature: signature.optional(),
    signedMessage,
  })
  .refine(
    ({ wallet, issuedAt, signature }) =>
      [wallet, issuedAt, signature].every((part) => part === undefined) ||
      [wallet, issuedAt, signature].every((part) => part !== undefined),
    { error: 'wallet, issuedAt and signature belong together' },
  )

/** What is posted to sign in. Wallets send what they like beside it. */
export const signInBodies = {
  nonce: z.object({ address: wallet }),
  signIn: z.object({
    address: wallet,
    message: z.string().min(1, 'must be the message as it was given').meta({ description: 'As it was given.' }),
    signature,
    signedMessage,
  }),
}
