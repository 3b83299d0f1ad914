/**
 * JSON-RPC to Solana nodes, over an injected transport.
 *
 * An answer is a result, the node's refusal with a code, or `unavailable`. The reason of the last never contains the
 * node's address, because it can contain an API key.
 */

import { isFields } from '../../core/encoding/fields.ts'
import type { Meter } from '../../core/observability/metrics.ts'
import { longestAnswer, type Transport } from '../../core/runtime.ts'
import { parseJson } from './json.ts'

export type RpcAnswer =
  /** `dateMs` is the node's clock, if its HTTP response contains it. */
  | { readonly kind: 'answered'; readonly result: unknown; readonly dateMs?: number | undefined }
  | { readonly kind: 'refused'; readonly code: number; readonly message: string; readonly data: unknown }
  | { readonly kind: 'unavailable'; readonly why: string; readonly isTooLarge?: boolean }

export type Call = (method: string, params: readonly unknown[]) => Promise<RpcAnswer>

export interface Node {
  /** Its index in the configuration, because its address must not be logged. */
  readonly name: string
  readonly call: Call
}

export interface Rpc {
  readonly nodes: readonly Node[]
  /** Asks one node, and the next one if the first fails. */
  readonly call: Call
  /** Cancels pending requests and refuses new ones. */
  close(): void
}

export interface RpcParts {
  readonly urls: readonly string[]
  readonly transport: Transport
  readonly timeoutMs?: number
  readonly meter?: Meter
}

const defaultTimeoutMs = 2_000

/** Refusals that concern the node and not the question: it lags, has pruned its history, or is overloaded. */
const nodeTroubles: ReadonlySet<number> = new Set([
  -32603, -32429, -32016, -32014, -32011, -32008, -32007, -32005, -32004, -32001, 429,
])

export function createRpc({ urls, transport, timeoutMs = defaultTimeoutMs, meter }: RpcParts): Rpc {
  if (urls.length === 0) throw new TypeError('at least one RPC node is needed')
  const underway = new Set<AbortController>()
  let closed = false
  let lastId = 0
  let preferred = 0

  const nodes = urls.map((url, index): Node => {
    const name = `node ${index + 1}`
    const count = meter && countCalls(meter, name)
    const call: Call = async (method, params) => {
      if (closed) return unavailable('the connection is closed')
      const id = ++lastId
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
      const controller = new AbortController()
      underway.add(controller)
      const start = performance.now()
      const reply = await post(transport, url, body, timeoutMs, controller)
      underway.delete(controller)
      const answer = 'status' in reply ? readAnswer(reply, id) : reply
      count?.(answer, performance.now() - start)
      return answer
    }
    return { name, call }
  })

  const call: Call = async (method, params) => {
    const start = preferred
    let answer: RpcAnswer = unavailable('no node is available')
    for (let step = 0; step < nodes.length; step += 1) {
      const index = (start + step) % nodes.length
      answer = (await nodes[index]?.call(method, params)) ?? answer
      if (answer.kind === 'unavailable' || (answer.kind === 'refused' && nodeTroubles.has(answer.code))) continue
      preferred = index
      return answer
    }
    return answer
  }

  return {
    nodes,
    call,
    close: () => {
      closed = true
      for (const controller of underway) controller.abort('the connection is closed')
    },
  }
}

/** Weight of the latest response in the moving average. */
const weight = 0.1

function countCalls(meter: Meter, node: string): (answer: RpcAnswer, ms: number) => void {
  const labels = { node }
  let average: number | undefined
  return (answer, ms) => {
    const isFailure = answer.kind === 'unavailable'
    average = average === undefined ? ms : average + weight * (ms - average)
    meter.count('paystile_node_calls_total', labels)
    if (isFailure) meter.count('paystile_node_failures_total', labels)
    meter.set('paystile_node_healthy', isFailure ? 0 : 1, labels)
    meter.set('paystile_node_latency_seconds', average / 1000, labels)
  }
}

type Reply = Awaited<ReturnType<Transport>>

/** Enforces the timeout itself, so that a transport that ignores it cannot delay a paid request. */
async function post(
  transport: Transport,
  url: string,
  body: string,
  timeoutMs: number,
  controller: AbortController,
): Promise<Reply | RpcAnswer> {
  const { signal } = controller
  const stopTimer = startTimer(timeoutMs, () => controller.abort('the node did not respond in time'))
  const stopped = new Promise<RpcAnswer>((resolve) => {
    signal.addEventListener('abort', () => resolve(unavailable(String(signal.reason))))
  })
  try {
    return await Promise.race([transport(url, body, { timeoutMs, signal }), stopped])
  } catch (error) {
    if (error instanceof RangeError || readCode(error) === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return tooLarge
    return unavailable(`the node cannot be reached${formatCode(error)}`)
  } finally {
    stopTimer()
  }
}

const timerSteps = 4

/**
 * Acts after this time, in steps. A process that stood still finds one step over, not the whole time, and reads the
 * answer that arrived meanwhile. The returned function stops it.
 */
function startTimer(ms: number, act: () => void): () => void {
  let left = timerSteps
  const step = () => {
    left -= 1
    if (left === 0) act()
    else timer = setTimeout(step, ms / timerSteps)
  }
  let timer = setTimeout(step, ms / timerSteps)
  return () => clearTimeout(timer)
}

/** Reports only the code of an error, because messages contain hosts, ports and paths. */
function formatCode(error: unknown): string {
  const code = readCode(error)
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? ` (${code})` : ''
}

function readCode(error: unknown): unknown {
  return isFields(error) || error instanceof Error ? (error as { readonly code?: unknown }).code : undefined
}

const tooLarge: RpcAnswer = { kind: 'unavailable', why: 'the response is larger than 1 MB', isTooLarge: true }

/** Validates an HTTP response down to the shape of its result. */
function readAnswer({ status, text, dateMs }: Reply, id: number): RpcAnswer {
  if (text.length > longestAnswer) return tooLarge
  const value = parseJson(text)
  if (!isFields(value)) return unavailable(`the node returned status ${status} without JSON`)
  const error = value['error']
  if (isFields(error) && typeof error['code'] === 'number') {
    const message = typeof error['message'] === 'string' ? error['message'].slice(0, 300) : ''
    return { kind: 'refused', code: error['code'], message, data: error['data'] }
  }
  if (status !== 200) return unavailable(`the node returned status ${status}`)
  // Another id means the answer to another question: a proxy or cache mixed them up.
  if (value['id'] !== id) return unavailable('the response belongs to another request')
  if (value['jsonrpc'] !== '2.0' || !('result' in value) || ('error' in value && error !== null))
    return unavailable('the response has neither result nor error')
  return { kind: 'answered', result: value['result'], ...(dateMs !== undefined && { dateMs }) }
}

function unavailable(why: string): RpcAnswer {
  return { kind: 'unavailable', why }
}
