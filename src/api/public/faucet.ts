/**
 * `POST /faucet {address, token?, amount?}`: test tokens, on test networks only.
 *
 * On a localnet the chain's own faucet responds. On other networks a key sends small fixed amounts, with limits per
 * client address, per recipient and in total. The tokens are free, but each transfer costs SOL of the key.
 */

import type { Limits } from '../../core/collections/limits.ts'
import type { BucketRate } from '../../core/collections/token-bucket.ts'
import { readClientAddress } from '../../core/http/client-address.ts'
import { localnetMints, type MintTable, type Network } from '../../core/money/tokens.ts'
import { localnetPortions, type Portions, readFaucetOrder } from '../../core/protocol/faucet-order.ts'
import type { Log } from '../../core/runtime.ts'
import type { FaucetSource, Forward, Gift, Give } from '../../paywall/runtime/faucet-source.ts'
import type { Visitor } from '../http/access.ts'

export type Faucet = (request: Request, visitor: Pick<Visitor, 'peer'>) => Promise<Response>

export interface FaucetParts {
  readonly network: Network
  readonly mints: MintTable
  /** Number of trusted proxies. */
  readonly trustProxy: number
  /** The source of the tokens. Without one there is no faucet. */
  readonly source: FaucetSource | undefined
  readonly limits: Limits
  readonly log: Log
}

/** Amounts of one transfer: enough to try all features, at little cost in SOL. */
const keyPortions: Portions = {
  SOL: { usual: '0.01', most: '0.01' },
  USDC: { usual: '10', most: '10' },
  NATIVE: { usual: '100', most: '100' },
}

const longestBody = 2_048

export function createFaucet(parts: FaucetParts): Faucet {
  const { network, source } = parts
  const nothing = async () => say(404, 'This service has no faucet.')
  if (network === 'mainnet' || !source) return nothing
  const answer = source.kind === 'localnet' ? forwardTo(source.forward) : giveBy(parts, source.give)
  return async (request, visitor) => {
    if (request.method !== 'POST') return say(405, 'Send POST {"address": "…"}.', { allow: 'POST' })
    const body = await readBody(request)
    if (body === undefined) return say(413, `The body is longer than ${longestBody} bytes.`)
    return answer(body, request, visitor)
  }
}

type Answer = (body: string, request: Request, visitor: Pick<Visitor, 'peer'>) => Promise<Response>

/** The node may belong to another program, so the body is built here from checked values. */
function forwardTo(forward: Forward): Answer {
  return async (body) => {
    const order = readFaucetOrder(body, localnetPortions, localnetMints)
    if (typeof order === 'string') return say(400, order)
    const { address, token, amount } = order
    const answer = await forward(JSON.stringify({ address, token, amount })).catch(() => undefined)
    if (!answer) return say(503, 'The faucet of the local chain does not respond. Try again in a moment.')
    return new Response(answer.text, { status: answer.status, headers: jsonHeaders })
  }
}

function giveBy({ network, mints, trustProxy, limits, log }: FaucetParts, give: Give): Answer {
  return async (body, request, { peer }) => {
    const order = readFaucetOrder(body, keyPortions, mints)
    if (typeof order === 'string') return say(400, order)
    const { address, units, amounts } = order
    const client = readClientAddress(peer, request.headers.get('x-forwarded-for') ?? undefined, trustProxy)
    const entry = await enterFaucet(limits, client, address)
    if (entry.kind === 'later') {
      const minutes = Math.ceil(entry.seconds / 60)
      return say(429, `Faucet limit reached. Try again in ${minutes} minutes.`, {
        'retry-after': String(Math.ceil(entry.seconds)),
      })
    }
    const gift = await give({ recipient: address, units }).catch(
      (error: unknown): Gift => ({ kind: 'failed', why: error instanceof Error ? error.message : String(error) }),
    )
    if (gift.kind === 'landed') return json(200, { address, amounts, signatures: [gift.tx] })
    log.warn('faucet.failed', { network, why: gift.why })
    if (gift.kind === 'failed') return say(502, `The faucet could not pay: ${gift.why}.`)
    if (!gift.isSent) entry.leave(0)
    return say(503, `The faucet cannot pay at the moment: ${gift.why}.`)
  }
}

/** The limits admit a class behind one address, but not a script that invents recipients. */
const rates: Readonly<Record<'client' | 'recipient' | 'all', BucketRate>> = {
  client: { most: 10, secondsEach: 360 },
  recipient: { most: 2, secondsEach: 1_800 },
  all: { most: 100, secondsEach: 36 },
}

function enterFaucet(limits: Limits, client: string, recipient: string): ReturnType<Limits['enter']> {
  const bucket = (kind: keyof typeof rates, name: string) => ({ book: `faucet/${kind}`, name, rate: rates[kind] })
  return limits.enter({
    buckets: [bucket('client', client), bucket('recipient', recipient), bucket('all', '')],
    cost: 1,
  })
}

/** Undefined if the body is too long. Reading stops at the limit. */
async function readBody(request: Request): Promise<string | undefined> {
  if (!request.body) return ''
  const decoder = new TextDecoder()
  let [text, length] = ['', 0]
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > longestBody) return undefined
    text += decoder.decode(chunk, { stream: true })
  }
  return text
}

const jsonHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store' }

function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${JSON.stringify(value)}\n`, { status, headers: { ...jsonHeaders, ...headers } })
}

function say(status: number, error: string, headers?: Readonly<Record<string, string>>): Response {
  return json(status, { error }, headers)
}
