/**
 * `/facilitator`: servers with x402 middleware settle their clients' payments here. Requests and answers are those of
 * x402, also for errors.
 */
import type { z } from 'zod'
import { readClientAddress } from '../../core/http/client-address.ts'
import type { Network } from '../../core/money/tokens.ts'
import { type Refusal, type RefusalRow, refusals } from '../../core/payment/refusals.ts'
import { x402Networks } from '../../core/protocol/x402.ts'
import { x402V1Networks } from '../../core/protocol/x402-v1.ts'
import type { Facilitator, FacilitatorAnswer, FacilitatorCall } from '../../paywall/claim/facilitate.ts'
import { nameReason } from '../../paywall/claim/facilitate.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import type { Visitor } from '../http/access.ts'
import { answer, problem, problems } from '../http/errors.ts'
import { readInput } from '../http/inputs.ts'
import { readJsonBody } from '../http/request-body.ts'
import type { facilitatorSettlement, facilitatorVerification } from './answers.ts'
import { type FacilitatorBody, facilitatorBody } from './bodies.ts'

export interface FacilitatorEndpoints {
  readonly service: Pick<Runtime, 'config' | 'meter'>
  readonly facilitator: Facilitator
  readonly trustProxy: number
}

/** Extensions of x402 may be long. */
const mostBodyBytes = 65_536
const mostKeyLength = 255

const names = { 1: x402V1Networks, 2: x402Networks } as const

/** `GET /supported`. */
export async function describeFacilitator({ service, facilitator }: FacilitatorEndpoints): Promise<Response> {
  await facilitator.ready()
  const feePayer = facilitator.feePayer()
  if (feePayer === undefined) return problem('not_started')
  const { network } = service.config
  const kinds = ([2, 1] as const).map((x402Version) => {
    return { x402Version, scheme: 'exact', network: names[x402Version][network], extra: { feePayer } }
  })
  return answer({ kinds, extensions: [], signers: { 'solana:*': [feePayer] } })
}

/** `POST /verify`. */
export async function verifyFacilitated(parts: FacilitatorEndpoints, request: Request, visitor: Visitor) {
  const { outcome, status, retryAfterSeconds } = await serveCall(parts, 'verify', request, visitor)
  const { reason: invalidReason, message: invalidMessage, payer } = outcome
  const body: z.input<typeof facilitatorVerification> =
    invalidReason === undefined ? { isValid: true, payer } : { isValid: false, invalidReason, invalidMessage, payer }
  return answer(body, { status, headers: formatRetry(retryAfterSeconds) })
}

/** `POST /settle`. */
export async function settleFacilitated(parts: FacilitatorEndpoints, request: Request, visitor: Visitor) {
  const { outcome, status, retryAfterSeconds } = await serveCall(parts, 'settle', request, visitor)
  const { reason: errorReason, message: errorMessage, payer, tx: transaction = '', network } = outcome
  const facts = { payer, transaction, network }
  const body: z.input<typeof facilitatorSettlement> =
    errorReason === undefined ? { success: true, ...facts } : { success: false, errorReason, errorMessage, ...facts }
  return answer(body, { status, headers: formatRetry(retryAfterSeconds) })
}

function formatRetry(seconds: number | undefined): Readonly<Record<string, string>> {
  return seconds === undefined ? {} : { 'Retry-After': String(seconds) }
}

interface CallOutcome {
  /** Undefined if the payment is valid, or settled. */
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly payer?: string | undefined
  readonly tx?: string | undefined
  readonly network: string
}

interface ServedCall {
  readonly outcome: CallOutcome
  readonly status: number
  readonly retryAfterSeconds?: number | undefined
}

async function serveCall(
  { service, facilitator, trustProxy }: FacilitatorEndpoints,
  endpoint: 'verify' | 'settle',
  request: Request,
  visitor: Visitor,
): Promise<ServedCall> {
  const { network } = service.config
  const count = (outcome: string) => service.meter.count('paystile_facilitator_total', { endpoint, outcome })
  const reading = await readCall(request, network)
  if (reading.kind === 'wrong') {
    count('malformed')
    const { status, reason, message } = reading
    return { outcome: { reason, message, network: reading.network ?? x402Networks[network] }, status }
  }
  const { payment, network: name } = reading
  const address = readClientAddress(visitor.peer, request.headers.get('x-forwarded-for') ?? undefined, trustProxy)
  await facilitator.ready()
  const found = await facilitator[endpoint]({ payment, address, key: reading.key })
  count(found.kind === 'refused' ? found.refusal.code : found.kind)
  return describeAnswer(found, endpoint, name)
}

function describeAnswer(found: FacilitatorAnswer, endpoint: 'verify' | 'settle', network: string): ServedCall {
  if (found.kind !== 'refused')
    return { outcome: { payer: found.payer, network, ...(found.kind === 'settled' && { tx: found.tx }) }, status: 200 }
  const { refusal, payer, tx } = found
  const row: RefusalRow = refusals[refusal.code]
  const outcome = {
    reason: nameReason(endpoint, refusal, tx),
    message: refusal.detail ?? row.title,
    payer,
    tx,
    network,
  }
  const status = findStatus(refusal, tx)
  if (status === 200) return { outcome, status }
  return { outcome, status, retryAfterSeconds: refusal.retryAfterSeconds ?? row.retryAfterSeconds }
}

/** Results are 200 in x402, also refusals and transactions with an open outcome. Outages and limits have a status. */
function findStatus({ code }: Refusal, tx: string | undefined): number {
  const { status } = refusals[code]
  return status === 429 || (status === 503 && tx === undefined) ? status : 200
}

type CallReading =
  | ({ readonly kind: 'call'; readonly network: string } & Omit<FacilitatorCall, 'address'>)
  | {
      readonly kind: 'wrong'
      readonly status: number
      readonly reason: string
      readonly message: string
      readonly network?: string
    }

async function readCall(request: Request, network: Network): Promise<CallReading> {
  const malformed = (message: string, status = 400): CallReading => {
    return { kind: 'wrong', status, reason: 'invalid_payload', message }
  }
  const key = request.headers.get('idempotency-key') ?? undefined
  if (key !== undefined && (key === '' || key.length > mostKeyLength))
    return malformed(`Idempotency-Key must have 1 to ${mostKeyLength} characters.`)
  const body = await readJsonBody(request, mostBodyBytes)
  if (body.kind === 'wrong') return malformed(body.detail, { ...refusals, ...problems }[body.code].status)
  const input = readInput(facilitatorBody, body.value)
  if (input.kind === 'problems') return malformed(`The body is invalid: ${input.problems.join('; ')}.`)
  return checkKind(input.input, network, key)
}

/** The scheme and the network that the client and the server agreed on must be supported. */
function checkKind(body: FacilitatorBody, own: Network, key: string | undefined): CallReading {
  const { paymentPayload: payload, paymentRequirements: required } = body
  const { x402Version } = payload
  const { network } = required
  const unsupported = (reason: string, message: string): CallReading => {
    return { kind: 'wrong', status: 200, reason, message, network }
  }
  const accepted = x402Version === 1 ? payload : payload.accepted
  if (required.scheme !== 'exact' || accepted?.scheme !== 'exact')
    return unsupported('unsupported_scheme', 'The scheme must be exact.')
  const name = names[x402Version][own]
  if (network !== name || accepted.network !== name)
    return unsupported('network_mismatch', `The network of version ${x402Version} must be ${name}.`)
  const { payTo, asset, extra } = required
  const [feePayer, memo] = [extra?.feePayer ?? undefined, extra?.memo ?? undefined]
  const member = x402Version === 1 ? 'maxAmountRequired' : 'amount'
  const amount = required[member]
  if (amount === undefined || amount === null) {
    const message = `The body is invalid: paymentRequirements.${member} is missing.`
    return { kind: 'wrong', status: 400, reason: 'invalid_payload', message, network }
  }
  const payment = { transaction: payload.payload.transaction, payTo, asset, units: BigInt(amount), feePayer, memo }
  return { kind: 'call', network, payment, key }
}
