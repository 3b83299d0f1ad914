/**
 * The HTTP transport of servers to nodes and rate sources: undici with persistent connections, at a fraction of the
 * cost of `fetch`.
 *
 * It follows no redirect, reads at most 1 MB, and sends one request at a time over a connection, so that a slow
 * response delays no other.
 */
import '../supported-runtime.ts'
import './own-fetch.ts'
import { Agent } from 'undici'
import type { Post } from '../../core/ports/sheets.ts'
import { type Get, longestAnswer, type Transport } from '../../core/runtime.ts'
import { createLookup, type Reach } from './allowed-addresses.ts'

export interface HttpTransport {
  readonly transport: Transport
  readonly get: Get
  readonly post: Post
  close(): Promise<void>
}

/** Limit of open connections to one node. */
const connections = 64

export interface HttpTransportOptions {
  /** For addresses from outside: the addresses that names may resolve to. */
  readonly reach?: Reach
  /** Limit of the response size; a longer response fails. */
  readonly mostBytes?: number
}

export function createHttpTransport({ reach, mostBytes = longestAnswer }: HttpTransportOptions = {}): HttpTransport {
  const agent = new Agent({
    connections,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    keepAliveMaxTimeout: 120_000,
    connect: { timeout: 2_000, ...(reach && { lookup: createLookup(reach) }) },
    maxResponseSize: mostBytes,
  })
  const targets = new Map<string, Target>()
  return {
    async transport(url, body, { timeoutMs, signal }) {
      const target = targets.get(url) ?? readTarget(url, { 'content-type': 'application/json' })
      targets.set(url, target)
      return dispatch(agent, { ...target, body, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }, signal)
    },
    async get(url, { timeoutMs, signal, headers }) {
      const response = await agent.request({
        ...readTarget(url, { accept: 'application/json', ...headers }),
        method: 'GET',
        // undici's limits are for silence, so a slow trickle would never end.
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      })
      return { status: response.statusCode, text: await response.body.text() }
    },
    async post(url, { timeoutMs, headers, body }) {
      const response = await agent.request({
        ...readTarget(url, headers),
        method: 'POST',
        body,
        signal: AbortSignal.timeout(timeoutMs),
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      })
      return { status: response.statusCode, text: await response.body.text() }
    },
    close: () => agent.destroy(),
  }
}

/**
 * Posts with undici's callbacks. Each payment needs several calls to a node, and `request` takes 5 to 40 % longer,
 * because it creates a stream for each body.
 */
function dispatch(
  agent: Agent,
  call: Target & { readonly body: string; readonly headersTimeout: number; readonly bodyTimeout: number },
  signal: AbortSignal,
): ReturnType<Transport> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let [status, dateMs, isOver]: [number, number | undefined, boolean] = [0, undefined, false]
    let abort = (_reason: Error): void => {
      isOver = true
    }
    const stop = (): void => {
      const error = new Error('the call was stopped')
      abort(error)
      end()
      reject(error)
    }
    const end = () => signal.removeEventListener('abort', stop)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop)
    agent.dispatch(
      { ...call, method: 'POST' },
      {
        onRequestStart: (controller) => {
          if (isOver) controller.abort(new Error('the call was stopped'))
          abort = (reason) => controller.abort(reason)
        },
        onResponseStart: (_controller, code, headers) => {
          status = code
          dateMs = Date.parse(String(headers['date'])) || undefined
        },
        onResponseData: (_controller, chunk) => {
          chunks.push(chunk)
        },
        onResponseEnd: () => {
          end()
          resolve({ status, text: decodeText(chunks), dateMs })
        },
        onResponseError: (_controller, error) => {
          end()
          reject(error)
        },
      },
    )
  })
}

const decoder = new TextDecoder()

/** As `text` of a response does it: without a byte order mark, and with replacements for bytes that are not UTF-8. */
function decodeText(chunks: readonly Buffer[]): string {
  const [first] = chunks
  return decoder.decode(chunks.length === 1 ? first : Buffer.concat(chunks))
}

interface Target {
  readonly origin: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

function readTarget(text: string, headers: Target['headers']): Target {
  const url = new URL(text)
  return { origin: url.origin, path: url.pathname + url.search, headers: { ...readCredentials(url), ...headers } }
}

/** A name and password in the address become a header, as in every HTTP client. */
export function readCredentials({ username, password }: URL): Readonly<Record<string, string>> {
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
}
