/**
 * JSON-RPC to Solana nodes, over a transport that is passed in.
 *
 * An answer is one of three things: a result, the node's own refusal with a code, or nothing that can be used. What is
 * said about the last never holds the node's address, which may carry an API key.
 */
import type { Meter } from '../../core/encoding/metrics.ts'
import type { Transport } from '../../core/runtime.ts'
import { longestAnswer } from '../../core/runtime.ts'
import { isFields, parseJson } from './json.ts'

export type RpcAnswer =
  /** `dateMs` is the time on the node's clock, where its HTTP answer tells it. */
  | { readonly kind: 'answered'; readonly result: unknown; readonly dateMs?: number | undefined }
  | { readonly kind: 'refused'; readonly code: number; readonly message: string; readonly data: unknown }
  | { readonly kind: 'unavailable'; readonly why: string }

export type Call = (method: string, params: readonly unknown[]) => Promise<RpcAnswer>

export interface Node {
  /** Its place in the configuration, since its address is not for the logs. */
  readonly name: string
  readonly call: Call
}

export interface Rpc {
  readonly nodes: readonly Node[]
  /** Asks one node, and the next when it is of no help. */
  readonly call: Call
  /** Ends what is under way and refuses what comes. */
  close(): void
}

export interface RpcParts {
  readonly urls: readonly string[]
  readonly transport: Transport
  readonly timeoutMs?: number
  readonly meter?: Meter
}

const defaultTimeoutMs = 2_000

/** Refusals that speak of the node and not of the question: it lags, has no memory so far back, is overloaded. */
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
    let answer: RpcAnswer = unavailable('no node was asked')
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

/** How much the latest answer weighs in the average. */
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

/** Keeps the time-out itself: a transport that forgets it must not hold up a paid request. */
async function post(
  transport: Transport,
  url: string,
  body: string,
  timeoutMs: number,
  controller: AbortController,
): Promise<Reply | RpcAnswer> {
  const { signal } = controller
  const timer = setTimeout(() => controller.abort('the node did not answer in time'), timeoutMs)
  const stopped = new Promise<RpcAnswer>((resolve) => {
    signal.addEventListener('abort', () => resolve(unavailable(String(signal.reason))))
  })
  try {
    return await Promise.race([transport(url, body, { timeoutMs, signal }), stopped])
  } catch (error) {
    return unavailable(`the node cannot be reached${formatCode(error)}`)
  } finally {
    clearTimeout(timer)
  }
}

/** Only the bare code of an error is repeated: messages hold hosts, ports and paths. */
function formatCode(error: unknown): string {
  const code = isFields(error) || error instanceof Error ? (error as { readonly code?: unknown }).code : undefined
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? ` (${code})` : ''
}

/** Checks an HTTP reply down to the shape of its result. */
function readAnswer({ status, text, dateMs }: Reply, id: number): RpcAnswer {
  if (text.length > longestAnswer) return unavailable('the answer is larger than 1 MB')
  const value = parseJson(text)
  if (!isFields(value)) return unavailable(`the node answered with status ${status} and no JSON`)
  const error = value['error']
  if (isFields(error) && typeof error['code'] === 'number') {
    const message = typeof error['message'] === 'string' ? error['message'].slice(0, 300) : ''
    return { kind: 'refused', code: error['code'], message, data: error['data'] }
  }
  if (status !== 200) return unavailable(`the node answered with status ${status}`)
  // The id of another question means another answer: a proxy or cache mixed them up.
  if (value['id'] !== id) return unavailable('the answer belongs to another question')
  if (value['jsonrpc'] !== '2.0' || !('result' in value) || ('error' in value && error !== null)) {
    return unavailable('the answer has neither result nor error')
  }
  return { kind: 'answered', result: value['result'], ...(dateMs !== undefined && { dateMs }) }
}

function unavailable(why: string): RpcAnswer {
  return { kind: 'unavailable', why }
}
