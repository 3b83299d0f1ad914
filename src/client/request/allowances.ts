/**
 * Allowances for more than one request. All calls in all processes use them up before a new one is bought. One call
 * buys while the others wait.
 */
import { PaymentError } from '../errors.ts'
import type { Intent } from '../journal/journal.ts'
import { readTimeout } from '../options.ts'
import { checkChallenge } from '../policy.ts'
import type { ClientParts, PaidRequest } from './paid-request.ts'
import { ignoreJournalError } from './pay.ts'
import { recover } from './recover.ts'
import { type Redeemed, redeem } from './redeem.ts'
import { type ChallengeReading, payChallenge } from './request-challenge.ts'

/** The known scope of an address. */
interface Hint {
  readonly scope: string
  readonly skewMs: number
}

/** The known scopes, for the lifetime of the process. */
export interface Hints {
  get(paidRequest: PaidRequest): Hint | undefined
  set(paidRequest: PaidRequest, hint: Hint): void
  forget(paidRequest: PaidRequest): void
}

const mostHints = 1_000

export function createHints(): Hints {
  const scopes = new Map<string, Hint>()
  const nameScope = ({ method, url, wallet }: PaidRequest) =>
    [method, url.origin, url.pathname, wallet.address].join('\n')
  return {
    get: (paidRequest) => scopes.get(nameScope(paidRequest)),
    set: (paidRequest, { scope, skewMs }) => {
      if (scopes.size >= mostHints) scopes.clear()
      scopes.set(nameScope(paidRequest), { scope, skewMs })
    },
    forget: (paidRequest) => void scopes.delete(nameScope(paidRequest)),
  }
}

/** Fetches the resource if a known allowance is left for it. Undefined if the price must be requested. */
export async function useKnown(
  parts: ClientParts,
  paidRequest: PaidRequest,
  hints: Hints,
): Promise<Response | undefined> {
  const hint = hints.get(paidRequest)
  const intent = hint && (await paidRequest.journal.find(hint.scope, parts.clock.now() + hint.skewMs))
  if (!intent) return undefined
  const brought = await use(parts, paidRequest, intent, paidRequest.url, ['binding_mismatch', 'unknown_request'])
  if (brought.kind === 'elsewhere') hints.forget(paidRequest)
  return brought.kind === 'brought' ? brought.response : undefined
}

async function use(
  parts: ClientParts,
  paidRequest: PaidRequest,
  intent: Intent,
  url: URL,
  elsewhere: readonly string[] = [],
): Promise<Redeemed> {
  const { requestId, tx = '' } = intent
  paidRequest.tell({ kind: 'resumed', tx, requestId })
  return useNow(parts, paidRequest, intent, url, elsewhere)
}

/** The rest of a window does not depend on its use, so the journal needs no report. */
async function useNow(
  parts: ClientParts,
  paidRequest: PaidRequest,
  intent: Intent,
  url: URL,
  elsewhere: readonly string[] = [],
): Promise<Redeemed> {
  if (intent.unit !== 'second') await paidRequest.journal.begin(intent.requestId).catch(ignoreJournalError)
  return redeem(parts, paidRequest, intent, url, elsewhere)
}

/** The time for which others wait, so that the buyer is the first to use its purchase. */
const headStartMs = 250
const pollMs = 50
const longestPollMs = 500

/**
 * Fetches the resource from the rest of an allowance or from a new purchase. Undefined if the price must be requested
 * again.
 */
export async function shareOrBuy(
  parts: ClientParts,
  paidRequest: PaidRequest,
  asked: ChallengeReading,
  scope: string,
): Promise<Response | undefined> {
  const { clock } = parts
  const { journal } = paidRequest
  const deadline = clock.monotonic() + readTimeout(paidRequest.options)
  let hasBought = false
  for (let pause = pollMs; ; ) {
    const share = await journal.share(scope, clock.now() + asked.skewMs)
    switch (share.kind) {
      case 'landed': {
        const brought = await use(parts, paidRequest, share.intent, asked.url)
        if (brought.kind === 'brought') return brought.response
        break
      }
      case 'busy':
        if (clock.monotonic() > deadline) throw stillBuying(asked)
        await paidRequest.pause(pause)
        pause = Math.min(pause * 2, longestPollMs)
        break
      case 'unfinished':
        await holding(paidRequest, scope, async () => {
          const { tx = '', requestId } = share.intent
          paidRequest.tell({ kind: 'resumed', tx, requestId })
          await recover(parts, paidRequest, share.intent)
        })
        break
      case 'turn': {
        // A server that takes repeated payments and delivers nothing is not paid again.
        if (hasBought) {
          await journal.passTurn(scope)
          throw usedUp(asked)
        }
        hasBought = true
        const brought = await buy(parts, paidRequest, asked, scope)
        if (brought === undefined || brought.kind === 'brought') return brought?.response
      }
    }
  }
}

async function holding<Result>({ journal }: PaidRequest, scope: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } finally {
    await journal.passTurn(scope).catch(ignoreJournalError)
  }
}

/** Buys an allowance and is the first to use it. Undefined if the challenge expired during the wait for others. */
async function buy(parts: ClientParts, paidRequest: PaidRequest, asked: ChallengeReading, scope: string) {
  const { journal, options } = paidRequest
  const { challenge, url } = asked
  return holding(paidRequest, scope, async () => {
    if (isTooOld(() => checkChallenge(challenge, url, options, parts.clock.now()))) return undefined
    const intent = await payChallenge(parts, paidRequest, asked)
    await journal.release(intent.requestId).catch(ignoreJournalError)
    const bringing = useNow(parts, paidRequest, intent, url)
    await Promise.race([bringing, new Promise((resolve) => setTimeout(resolve, headStartMs))])
    return { bringing }
  }).then((begun) => begun?.bringing)
}

function isTooOld(check: () => void): boolean {
  try {
    check()
    return false
  } catch (error) {
    if (error instanceof PaymentError && error.code === 'challenge_expiring') return true
    throw error
  }
}

function stillBuying({ challenge: { requestId } }: ChallengeReading): PaymentError {
  return new PaymentError(
    'payment_unknown',
    'Another call is still paying for the same resource. Call again to use its payment.',
    { requestId },
  )
}

function usedUp({ challenge: { requestId } }: ChallengeReading): PaymentError {
  return new PaymentError('payment_refused', 'The server reports that the new allowance is already used up.', {
    requestId,
    refusal: 'payment_replay',
    status: 409,
  })
}
