/** Sends a credential until the resource arrives, and follows its payment on chain. */
import { openTransaction } from '../../chain/read/decode.ts'
import { type CosignedFate, readCosignedFate } from '../../chain/send/cosigned.ts'
import { readOwnSignature } from '../../chain/wallets/cosigned-payment.ts'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { decodeBase64 } from '../../core/encoding/base64.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { PaymentError } from '../errors.ts'
import type { Intent } from '../journal/journal.ts'
import { readTimeout } from '../options.ts'
import { readMppReceipt } from '../protocols/mpp.ts'
import { readText } from '../protocols/offer.ts'
import { readX402Report } from '../protocols/x402.ts'
import { readJson } from '../read-json.ts'
import { readExtent, watchBody } from './body.ts'
import type { PaidRequest } from './paid-request.ts'
import type { PayParts } from './pay.ts'
import { followRedirect, isRedirect } from './redeem.ts'

export interface PresentParts extends PayParts {
  readonly paidRequest: PaidRequest
  readonly genesis: string
}

const firstPauseMs = 100
const longestPauseMs = 5_000

/** Returns the head of the resource, or a `PaymentError`. */
export async function present(parts: PresentParts, intent: Intent, url: URL): Promise<Response> {
  const { clock, options, paidRequest } = parts
  const deadline = clock.monotonic() + readTimeout(options)
  let isLanded = false
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
    const reply = await send(parts, intent, url)
    if (reply.kind === 'answered') return deliver(parts, intent, reply.response, url)
    if (reply.kind === 'refused') {
      if (isLanded) throw await notDelivered(parts, intent, reply)
      const fate = await follow(parts, intent, deadline)
      if (fate.kind !== 'landed') throw await giveUp(parts, intent, fate, reply)
      // The server did not know that the payment had landed. The same credential gets one more chance.
      isLanded = true
      continue
    }
    const isLate = clock.monotonic() + pause > deadline
    if (isLate || pause === longestPauseMs) {
      const fate = await readFate(parts, intent)
      if (fate.kind === 'expired' || fate.kind === 'failed' || isLate) throw await giveUp(parts, intent, fate, reply)
    }
    paidRequest.tell({ kind: 'retrying', reason: reply.why, afterMs: pause })
    await paidRequest.pause(pause)
  }
}

type Reply =
  | { readonly kind: 'answered'; readonly response: Response }
  /** The server does not deliver for this credential. Its payment may still land. */
  | { readonly kind: 'refused'; readonly status: number; readonly why: string }
  /** `status` is undefined if the server did not answer. */
  | { readonly kind: 'again'; readonly status?: number; readonly why: string }

async function send({ paidRequest, options }: PresentParts, { credential = '' }: Intent, url: URL): Promise<Reply> {
  const [header = '', value = ''] = credential.split(/: (.*)/s)
  let response: Response
  try {
    response = await paidRequest.send(url, { [header]: value }, 'manual')
  } catch (error) {
    if (paidRequest.isCancelled()) throw error
    return { kind: 'again', why: error instanceof PaymentError ? 'no response in time' : 'the connection broke' }
  }
  const { status } = response
  if (status !== 402 && status !== 403 && status !== 409 && status !== 429 && status < 500)
    return { kind: 'answered', response }
  const reason = await readReason(response, readTimeout(options))
  const why = reason.words ?? `status ${status}`
  await response.body?.cancel()
  return { kind: status === 402 || status === 403 || reason.isFinal ? 'refused' : 'again', status, why }
}

const longestReason = 200

/** The server's own words about a refusal. `isFinal`: a server of paystile states that the payment is used up. */
async function readReason(
  response: Response,
  timeoutMs: number,
): Promise<{ readonly words: string | undefined; readonly isFinal: boolean }> {
  const body = await readJson(response, timeoutMs / 2)
  const fields = isFields(body) ? body : {}
  const words = readX402Report(response.headers).error ?? readText(fields['detail']) ?? readText(fields['error'])
  return {
    words: words?.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, longestReason),
    isFinal: fields['retryable'] === false,
  }
}

async function deliver(parts: PresentParts, intent: Intent, response: Response, url: URL): Promise<Response> {
  const { paidRequest, journal, tell } = parts
  const { requestId } = intent
  const { status, headers } = response
  const tx = readX402Report(headers).tx ?? readMppReceipt(headers) ?? ''
  tell({ kind: 'delivered', tx, requestId, status })
  const close = async (state: 'done' | 'dead' | undefined): Promise<void> => {
    try {
      if (state) await journal.change(requestId, { state, ...(tx !== '' && { tx }) })
      await journal.release(requestId)
    } catch {
      // The resource is here. A failure of the journal costs one request to the server at the next call.
    }
  }
  // An error of the resource can mean that the server did not take the payment. Many callers do not read its body.
  if (status >= 400) {
    await close(endStates[(await readFate(parts, intent)).kind])
    return response
  }
  if (isRedirect(response)) {
    await close('done')
    return followRedirect(paidRequest, response, url)
  }
  return watchBody(response, {
    extent: { ...readExtent(response, true, undefined), isCut: false },
    end: (ending) => close(ending === 'broken' ? undefined : 'done'),
    exhausted: () => new TypeError('a response without an allowance cannot exceed it'),
  })
}

/** While the payment may still land, the next call sends the same credential. */
const endStates = { landed: 'done', failed: 'dead', expired: 'dead', unknown: undefined } as const

function readFate({ rpc, genesis }: PresentParts, intent: Intent): Promise<CosignedFate> {
  const { payer, wire = '', slot = Number.MAX_SAFE_INTEGER, memo } = intent
  const transaction = decodeBase64(wire) ?? new Uint8Array()
  return readCosignedFate(
    { rpc, genesis },
    {
      wallet: payer,
      signature: readOwnSignature(transaction, payer),
      blockhash: encodeBase58(openTransaction(transaction).lifetime),
      slot,
      memo,
    },
  )
}

/** Reads the outcome until it is known, or the time is up. */
async function follow(parts: PresentParts, intent: Intent, deadline: number): Promise<CosignedFate> {
  const { clock, paidRequest } = parts
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
    const fate = await readFate(parts, intent)
    if (fate.kind !== 'unknown' || clock.monotonic() + pause > deadline) return fate
    await paidRequest.pause(pause)
  }
}

type Unserved = Exclude<Reply, { kind: 'answered' }>

/** The payment landed, and the server does not deliver for it. */
async function notDelivered({ journal }: PresentParts, { requestId }: Intent, reply: Unserved): Promise<PaymentError> {
  await journal.change(requestId, { state: 'done' })
  return new PaymentError(
    'paid_not_delivered',
    `The payment was made, but the server does not deliver (${reply.why}). The client drops it: the next call makes a new payment.`,
    { requestId, ...(reply.status !== undefined && { status: reply.status }) },
  )
}

/** The server handled the payment and failed. Other statuses, and silence, also mean that it cannot be reached. */
function isOwnFailure({ status }: Unserved): boolean {
  return status === 500 || status === 409
}

/** The error of a purchase without a resource. It states the consequence for the money. */
async function giveUp(parts: PresentParts, intent: Intent, fate: CosignedFate, reply: Unserved) {
  const { journal } = parts
  const { requestId } = intent
  const code = reply.kind === 'refused' ? 'payment_refused' : undefined
  const said =
    reply.kind === 'refused' ? `The server refused the payment (${reply.why}).` : `No delivery (${reply.why}).`
  const facts = { requestId, ...(reply.kind === 'refused' && { status: reply.status, refusal: reply.why }) }
  switch (fate.kind) {
    case 'landed':
      // An earlier call tried for its whole time. Without an end, a lost answer would block the resource for good.
      if (intent.state === 'landed' && isOwnFailure(reply)) return notDelivered(parts, intent, reply)
      await journal.change(requestId, { state: 'landed', tx: fate.tx })
      return new PaymentError(
        'paid_not_delivered',
        `The payment was made, but the resource was not delivered (${reply.why}). Call again to use the same payment.`,
        { ...facts, tx: fate.tx },
      )
    case 'failed':
      await journal.change(requestId, { state: 'dead', tx: fate.tx })
      return new PaymentError(
        'payment_failed',
        `${said} The payment failed on chain (${fate.error}). Nothing was paid.`,
        { ...facts, tx: fate.tx, isOver: true },
      )
    case 'expired':
      await journal.change(requestId, { state: 'dead' })
      return new PaymentError(code ?? 'payment_failed', `${said} Nothing was paid: the payment can no longer land.`, {
        ...facts,
        isOver: true,
      })
    case 'unknown':
      return new PaymentError(
        code ?? 'payment_unknown',
        `${said} The payment may still land (${fate.why}), so its amount stays reserved. Call again: the client follows it up and does not pay twice.`,
        facts,
      )
  }
}
