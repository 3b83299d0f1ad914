/**
 * `POST /verify-payment`: checks a payment without using it.
 *
 * Requests come from strangers. Their reads from nodes are limited by a budget. Only the payer and the owners learn
 * whether a payment was used.
 */
import { readClientAddress, unknownAddress } from '../../core/http/client-address.ts'
import { readPrice } from '../../core/money/price.ts'
import { findDecimals, type MintTable } from '../../core/money/tokens.ts'
import type { PaymentListStatus } from '../../core/payment/history.ts'
import { type RefusalCode, refusals } from '../../core/payment/refusals.ts'
import { claimableUntil } from '../../core/payment/requirements.ts'
import type { ReadOptions } from '../../core/ports/chain.ts'
import { usualProofTtlSeconds } from '../../core/protocol/proof.ts'
import { type OpenedRequest, openRequest } from '../../core/protocol/request-id.ts'
import type { Clock } from '../../core/runtime.ts'
import type { Checks, Expectation, Verdict } from '../../paywall/claim/check-payment.ts'
import { judgePayment, unchecked } from '../../paywall/claim/check-payment.ts'
import type { RateLimit } from '../../paywall/runtime/rate-limit.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { type Access, mayRead, type Visitor } from '../http/access.ts'
import { answer, problem } from '../http/errors.ts'
import { readInput } from '../http/inputs.ts'
import { readJsonBody } from '../http/request-body.ts'
import { type VerifyBody, verifyBody } from './bodies.ts'

export interface VerificationParts {
  readonly service: Runtime
  readonly mints: () => MintTable
  readonly trustProxy: number
  /** Limit of reads from nodes, regardless of the result: payments are public, so any client can name valid ones. */
  readonly reads: RateLimit
  /** Transactions that a node has returned. */
  readonly shown: ShownTransactions
}

export interface ShownTransactions {
  add(tx: string): void
  has(tx: string): boolean
}

/** Far longer than the lag of any node. */
const shownMs = 600_000
const mostShown = 10_000

/** Remembers transactions that nodes have returned. A node that lacks one of them lags. */
export function createShownTransactions(clock: Pick<Clock, 'monotonic'>): ShownTransactions {
  const shown = new Map<string, number>()
  return {
    add: (tx) => {
      shown.delete(tx)
      shown.set(tx, clock.monotonic())
      const [oldest] = shown.keys()
      if (shown.size > mostShown && oldest !== undefined) shown.delete(oldest)
    },
    has: (tx) => clock.monotonic() - (shown.get(tx) ?? Number.NEGATIVE_INFINITY) < shownMs,
  }
}

interface Asked {
  readonly body: VerifyBody
  readonly request: OpenedRequest
  readonly recipient: string
  readonly access: Access
  /** The budgets are kept by this address. */
  readonly address: string
}

export async function verifyEndpoint(
  parts: VerificationParts,
  request: Request,
  visitor: Visitor,
  access: Access,
): Promise<Response> {
  const reading = await readJsonBody(request)
  if (reading.kind === 'wrong') return problem(reading.code, { detail: reading.detail })
  const input = readInput(verifyBody, reading.value)
  if (input.kind === 'problems') return problem('body_invalid', { problems: input.problems })
  const body = input.input
  const amount = readUnits(body, parts.mints())
  if (amount.kind === 'problem') return problem('body_invalid', { problems: [amount.why] })
  const opened = openRequest(body.requestId)
  const recognition = opened && (await parts.service.identify(opened))
  // Checked first, because it is free: only a requestId that this service sealed justifies a read from a node.
  if (!opened || recognition?.kind !== 'sealed') return tell(body, refused('unknown_request', { sealed: 'failed' }))
  const { recipient } = recognition
  if (body.recipient !== undefined && body.recipient !== recipient)
    return tell(body, refused('wrong_recipient', { sealed: 'passed', recipient: 'failed' }))
  const sealed = body.mint === undefined ? undefined : opened.amounts[body.mint]
  if (body.mint && sealed === undefined) return tell(body, refused('wrong_mint', { sealed: 'passed' }))
  const { service, trustProxy } = parts
  const address = readClientAddress(visitor.peer, request.headers.get('x-forwarded-for') ?? undefined, trustProxy)
  const asked: Asked = { body, request: opened, recipient, access, address }
  // The client may expect more than the sealed price, but not less.
  const payment =
    body.mint === undefined ? undefined : { recipient, token: body.mint, units: highest(sealed, amount.units) }
  const judged = await judgeWithin(parts, asked, { payer: body.payer, payment, sealedFor: recognition })
  if (judged.kind === 'over_budget') return problem('rate_limited')
  const { verdict } = judged
  if (verdict.code && refusals[verdict.code].status === 503) return problem(verdict.code)
  return tell(body, verdict, recipient, { now: service.clock.now(), end: claimEnd(service, opened) })
}

function readUnits({ amount, mint }: VerifyBody, mints: MintTable) {
  if (amount === undefined || mint === undefined) return { kind: 'units', units: undefined } as const
  const decimals = findDecimals(mint, mints)
  if (decimals === undefined) return { kind: 'problem', why: `mint ${mint} is unknown to this service` } as const
  const price = readPrice(amount, mint, decimals)
  if (price.kind === 'problem') return { kind: 'problem', why: `amount ${price.why}` } as const
  return { kind: 'units', units: price.units } as const
}

function highest(sealed = 0n, expected = 0n): bigint {
  return sealed > expected ? sealed : expected
}

type Judgement = { readonly kind: 'judged'; readonly verdict: Verdict } | { readonly kind: 'over_budget' }

/**
 * A recently seen payment is judged without a read. Reads from nodes have two budgets: one for failures, one for all
 * reads.
 */
async function judgeWithin(
  { service, mints, reads, shown }: VerificationParts,
  { body, request, access, address }: Asked,
  expectation: Expectation,
): Promise<Judgement> {
  const judgeBy = (reading: ReadOptions) =>
    judgePayment(
      {
        chain: service.chain,
        clock: service.clock,
        network: service.config.network,
        service: service.config.service,
        mints: mints(),
        waitMs: 0,
        keyring: service.keyring,
        ledger: service.ledger,
        tokenAccountOf: service.tokenAccountOf,
        tellsUse: (payer) => mayRead(access) || (access.kind === 'stranger' && access.wallet === payer),
        reading,
        proofTtlSeconds: readProofTtl(service, request),
      },
      body.tx,
      body.requestId,
      expectation,
    )
  const isSeen = service.chain.seen(body.tx) !== undefined
  const known = isSeen ? await judgeBy({}) : undefined
  if (known && isGood(known)) return { kind: 'judged', verdict: known }
  const credit = await service.rateLimit.enter(address, body.requestId)
  // Clients without a known address share one budget: they may be the same client.
  const read = credit && (await reads.enter(address === unknownAddress ? 'somebody' : address, body.requestId))
  if (!credit || !read) {
    credit?.leave(true)
    return known ? { kind: 'judged', verdict: known } : { kind: 'over_budget' }
  }
  let wasUseful = true
  try {
    const found = await judgeBy({ isDoubtful: credit.isDoubtful, isEnough: () => false })
    if (found.slot !== undefined) shown.add(body.tx)
    // A reported verdict stands: a lagging node does not make the payment pending again.
    const isLag = found.code === 'tx_not_found' && (isSeen || shown.has(body.tx))
    const verdict = isLag ? (known ?? refused('chain_unavailable', {})) : found
    wasUseful = isGood(verdict) || (verdict.code !== undefined && refusals[verdict.code].status === 503)
    return { kind: 'judged', verdict }
  } finally {
    credit.leave(wasUseful)
    read.leave(false)
  }
}

/** Whether the payment itself is valid, used or not. */
function isGood({ valid, checks }: Verdict): boolean {
  return valid || checks.unused === 'failed'
}

function refused(code: RefusalCode, checks: Partial<Checks>): Verdict {
  return { valid: false, code, checks: { ...unchecked, ...checks } }
}

function readProofTtl(service: Runtime, { routeTag }: OpenedRequest): number {
  return service.findRoute(routeTag)?.proofTtlSeconds ?? usualProofTtlSeconds
}

function claimEnd(service: Runtime, request: OpenedRequest): number {
  return claimableUntil(request, readProofTtl(service, request))
}

interface Times {
  readonly now: number
  /** End of the time in which the payment can be claimed. */
  readonly end: number
}

function tell(body: VerifyBody, verdict: Verdict, recipient?: string, times?: Times): Response {
  const { valid, code, checks, ...facts } = verdict
  return answer({
    valid,
    status: readStatus(verdict, times !== undefined && times.now <= times.end),
    ...(code && { code, detail: refusals[code].title }),
    retryable: code !== undefined && refusals[code].retryable,
    requestId: body.requestId,
    checks,
    ...(recipient !== undefined && { recipient }),
    ...facts,
    ...(times && { claimableUntil: new Date(times.end).toISOString() }),
  })
}

/** `confirmed` for a valid payment, also after its use; `pending` while it can become valid; `expired` afterwards. */
function readStatus(verdict: Verdict, isInTime: boolean): PaymentListStatus {
  if (isGood(verdict)) return 'confirmed'
  const mayCome = verdict.code !== undefined && refusals[verdict.code].retryable
  return mayCome && isInTime ? 'pending' : 'expired'
}
