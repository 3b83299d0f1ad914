/** One request of the caller, which can be sent repeatedly. */
import { sha256 } from '@noble/hashes/sha2.js'
import type { Wallet } from '../../chain/keys/keypair.ts'
import { encodeBase64url } from '../../core/encoding/base64url.ts'
import { parseUrl } from '../../core/encoding/url.ts'
import type { Network } from '../../core/money/tokens.ts'
import type { Clock } from '../../core/runtime.ts'
import { PaymentError } from '../errors.ts'
import type { Intent, Journal } from '../journal/journal.ts'
import type { Connection, Nodes } from '../nodes.ts'
import { type ClientEvent, type ClientOptions, readTimeout } from '../options.ts'
import { canSignMessages, toWallet } from '../wallet.ts'
import { type ReplayableBody, readRequestBody } from './request-body.ts'

export interface ClientParts {
  readonly clock: Clock
  readonly nodes: Nodes
  readonly journal: () => Journal | Promise<Journal>
  /** The default nodes: `PAYSTILE_RPC`. */
  readonly defaultRpc: readonly string[] | undefined
}

export interface PaidRequest {
  readonly url: URL
  readonly options: ClientOptions
  readonly wallet: Wallet
  readonly journal: Journal
  readonly key: string
  readonly method: string
  /** Whether the caller's request has this header. */
  readonly hasHeader: (name: string) => boolean
  /** The caller's redirect mode for the unpaid request. */
  readonly redirect: RequestRedirect
  /** Whether the caller has aborted. */
  readonly isCancelled: () => boolean
  /** Throws the caller's reason if the caller has aborted. */
  readonly throwIfCancelled: () => void
  /** Waits. Throws the caller's reason if the caller has aborted. */
  readonly pause: (ms: number) => Promise<void>
  readonly tell: (event: ClientEvent) => void
  readonly send: Send
}

/** `as: 'GET'` drops method and body, as a redirect can require. */
export type Send = (
  url: URL,
  headers: Readonly<Record<string, string>>,
  redirect: RequestRedirect,
  as?: 'GET',
) => Promise<Response>

export async function prepare(
  parts: ClientParts,
  target: string | URL | Request,
  init: RequestInit,
  options: ClientOptions,
): Promise<PaidRequest> {
  const wallet = await toWallet(options.wallet)
  if (options.proof === 'sig' && !canSignMessages(wallet))
    throw new TypeError("fetchWith402: this wallet cannot sign messages; set proof to 'claim'.")
  const given = target instanceof Request ? target : undefined
  const url = readUrl(given?.url ?? String(target))
  const method = (init.method ?? given?.method ?? 'GET').toUpperCase()
  const { content: body, type } = await readRequestBody(init.body ?? (given?.body ? await given.arrayBuffer() : null))
  const headers = new Headers(init.headers ?? given?.headers)
  if (type && !headers.has('content-type')) headers.set('content-type', type)
  const callerSignal = init.signal ?? given?.signal
  const throwIfCancelled = () => callerSignal?.throwIfAborted()
  const doFetch = options.fetch ?? fetch
  return {
    url,
    options,
    wallet,
    journal: options.journal ?? (await parts.journal()),
    key: createKey(method, url, body, wallet.address),
    method,
    hasHeader: (name) => headers.has(name),
    redirect: init.redirect ?? given?.redirect ?? 'follow',
    isCancelled: () => callerSignal?.aborted === true,
    throwIfCancelled,
    pause: async (ms) => {
      await new Promise((resolve) => setTimeout(resolve, ms))
      throwIfCancelled()
    },
    tell: createListener(options),
    send: async (to, more, redirect, as) => {
      const all = new Headers(headers)
      if (as) for (const name of bodyHeaders) all.delete(name)
      for (const [name, value] of Object.entries(more)) all.set(name, value)
      // The timeout covers only the wait for the head of the response. A long body may take its time.
      const limit = new AbortController()
      const timer = setTimeout(() => limit.abort(noAnswer()), readTimeout(options) / 2)
      const signal = callerSignal ? AbortSignal.any([callerSignal, limit.signal]) : limit.signal
      const content = { body: as ? null : (body ?? null) }
      const credentials = given && !init.credentials ? { credentials: given.credentials } : {}
      try {
        const request = { ...init, ...credentials, ...content, method: as ?? method, headers: all, redirect, signal }
        return await doFetch(to, request)
      } catch (error) {
        throw limit.signal.aborted ? limit.signal.reason : error
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

/** Relative addresses work in a browser, as with `fetch`. */
function readUrl(text: string): URL {
  const url = parseUrl(text, globalThis.location?.href)
  if (url) return url
  throw new TypeError(
    `fetchWith402: ${JSON.stringify(text)} is not a full address, such as https://api.example.com/report.`,
  )
}

function noAnswer(): PaymentError {
  return new PaymentError('server_unavailable', 'The server did not respond in time. Try again, or raise timeoutMs.')
}

const bodyHeaders = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location']

/** A listener must not separate a payment from its resource, so its exceptions are dropped. */
function createListener({ onEvent }: ClientOptions): PaidRequest['tell'] {
  return (event) => {
    try {
      const told: unknown = onEvent?.(event)
      if (told instanceof Promise) told.catch(() => {})
    } catch {}
  }
}

export function connect(
  { nodes, defaultRpc }: ClientParts,
  { options }: PaidRequest,
  network: Network,
  genesis?: string,
): Promise<Connection> {
  return nodes.connect(network, genesis, options.rpc ?? defaultRpc)
}

/** Whether a payment was on a local chain that ended, so that no node can show its outcome. */
export function isOnEndedChain(
  { nodes, defaultRpc }: ClientParts,
  { options }: PaidRequest,
  { network, genesis }: Pick<Intent, 'network' | 'genesis'>,
): boolean {
  return nodes.hasEnded(network, genesis, options.rpc ?? defaultRpc)
}

/** Equal for equal requests of one wallet. */
function createKey(method: string, url: URL, body: ReplayableBody['content'], wallet: string): string {
  return digest([method, url.href, encodeBase64url(sha256(readBytes(body))), wallet])
}

/** Computes one name from these texts. */
export function digest(texts: readonly string[]): string {
  return encodeBase64url(sha256(encode(texts.join('\n'))))
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function readBytes(body: ReplayableBody['content']): Uint8Array {
  if (body === undefined) return new Uint8Array()
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
  return encode(String(body))
}
