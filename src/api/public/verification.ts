/**
 * `POST /verify-payment`: tells whether a payment is good, and uses nothing up.
 *
 * Whoever asks is a stranger: what nodes are asked on their behalf stays within their budget, and whether a payment was
 * used is for its payer and the owners to know.
 */
import { readClientAddress, unknownAddress } from '../../core/encoding/client-address.ts'
import { readPrice } from '../../core/money/price.ts'
import type { MintTable } from '../../core/money/tokens.ts'
import { findDecimals } from '../../core/money/tokens.ts'
import type { PaymentListStatus } from '../../core/payment/history.ts'
import type { RefusalCode } from '../../core/payment/refusals.ts'
import { refusals } from '../../core/payment/refusals.ts'
import type { ReadOptions } from '../../core/ports/chain.ts'
import { usualProofTtlSeconds } from '../../core/protocol/proof.ts'
import type { OpenedRequest } from '../../core/protocol/request-id.ts'
import { openRequest } from '../../core/protocol/request-id.ts'
import type { Clock } from '../../core/runtime.ts'
import type { Checks, Expectation, Verdict } from '../../paywall/claim/check-payment.ts'
import { judgePayment, unchecked } from '../../paywall/claim/check-payment.ts'
import { claimableUntil } from '../../paywall/quote/requirements.ts'
import type { RateLimit } from '../../paywall/runtime/rate-limit.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import type { Access, Visitor } from '../http/access.ts'
import { mayRead } from '../http/access.ts'
import { answer, problem } from '../http/errors.ts'
import { readInput } from '../http/inputs.ts'
import { readJsonBody } from '../http/request-body.ts'
import type { VerifyBody } from './bodies.ts'
import { verifyBody } from './bodies.ts'

export interface VerificationParts {
  readonly service: Runtime
  readonly mints: () => MintTable
  readonly trustProxy: number
  /** What may be asked of the nodes here, whatever comes of it: payments are public, and anybody can name good ones. */
  readonly reads: RateLimit
  /** Transactions that nodes have shown here. */
  readonly shown: ShownTransactions
}

export interface ShownTransactions {
  add(tx: string): void
  has(tx: string): boolean
}

/** Far longer than any node lags. */
const shownMs = 600_000
const mostShown = 10_000

/** Remembers transactions that nodes have shown: a node that does not have one of them lags. */
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
  /** By which budgets are kept. */
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
  const recognition = opened && parts.service.recognise(opened)
  // Costs nobody anything: only what we have sealed is worth a question to a node.
  if (!opened || recognition?.kind !== 'sealed') return tell(body, refused('unknown_request', { sealed: 'failed' }))
  const { recipient } = recognition
  if (body.recipient !== undefined && body.recipient !== recipient)
    return tell(body, refused('wrong_recipient', { sealed: 'passed', recipient: 'failed' }))
  const sealed = body.mint && opened.amounts[body.mint]
  if (body.mint && sealed === undefined) return tell(body, refused('wrong_mint', { sealed: 'passed' }))
  const { service, trustProxy } = parts
  const address = readClientAddress(visitor.peer, request.headers.get('x-forwarded-for') ?? undefined, trustProxy)
  const asked: Asked = { body, request: opened, recipient, access, address }
  // What somebody expects may be more than was asked for, but never less.
  const payment = body.mint && { recipient, token: body.mint, units: highest(sealed, amount.units) }
  const judged = await judgeWithin(parts, asked, { payer: body.payer, payment, sealedFor: recipient })
  if (judged.kind === 'over_budget') return problem('rate_limited')
  const { verdict } = judged
  if (verdict.code && refusals[verdict.code].status === 503) return problem(verdict.code)
  return tell(body, verdict, recipient, { now: service.clock.now(), end: claimEnd(service, opened) })
}

function readUnits({ amount, mint }: VerifyBody, mints: MintTable) {
  if (amount === undefined || mint === undefined) return { kind: 'units', units: undefined } as const
  const decimals = findDecimals(mint, mints)
  if (decimals === undefined) return { kind: 'problem', why: `mint ${mint} is not known to this service` } as const
  const price = readPrice(amount, mint, decimals)
  if (price.kind === 'problem') return { kind: 'problem', why: `amount ${price.why}` } as const
  return { kind: 'units', units: price.units } as const
}

function highest(sealed = 0n, expected = 0n): bigint {
  return sealed > expected ? sealed : expected
}

type Judgement = { readonly kind: 'judged'; readonly verdict: Verdict } | { readonly kind: 'over_budget' }

/** What was seen a moment ago is told for nothing. Nodes are asked within two budgets: for what leads nowhere, and for all. */
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
  const credit = service.budget.enter(address, body.requestId)
  // Those whose address nobody knows share one budget: they may be one and the same.
  const read = credit && reads.enter(address === unknownAddress ? 'somebody' : address, body.requestId)
  if (!credit || !read) {
    credit?.leave(true)
    return known ? { kind: 'judged', verdict: known } : { kind: 'over_budget' }
  }
  let wasUseful = true
  try {
    const found = await judgeBy({ isDoubtful: credit.isDoubtful, isAnew: isSeen })
    if (found.slot !== undefined) shown.add(body.tx)
    // A verdict that was told stands: a node that lags does not make it pending again.
    const isLag = found.code === 'tx_not_found' && (isSeen || shown.has(body.tx))
    const verdict = isLag ? (known ?? refused('chain_unavailable', {})) : found
    wasUseful = isGood(verdict) || (verdict.code !== undefined && refusals[verdict.code].status === 503)
    return { kind: 'judged', verdict }
  } finally {
    credit.leave(wasUseful)
    read.leave(false)
  }
}

/** The payment itself, whether or not it was used. */
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
  /** Until when it can be claimed. */
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

/** `confirmed` once it is good, also when it was used since; `pending` while it may become so; `expired` when it cannot. */
function readStatus(verdict: Verdict, isInTime: boolean): PaymentListStatus {
  if (isGood(verdict)) return 'confirmed'
  const mayCome = verdict.code !== undefined && refusals[verdict.code].retryable
  return mayCome && isInTime ? 'pending' : 'expired'
}
