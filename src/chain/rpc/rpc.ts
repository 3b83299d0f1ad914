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
  /**
   * Asks for the node's genesis hash in the same HTTP request, so that one node answers both. A node without batches is
   * asked for its hash afterwards, unless its answer is empty: then `genesis` is undefined.
   */
  callWithGenesis(method: string, params: readonly unknown[]): Promise<AnswerWithGenesis>
}

export interface AnswerWithGenesis {
  readonly answer: RpcAnswer
  readonly genesis: RpcAnswer | undefined
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
    const send = async (body: object): Promise<Reply | RpcAnswer> => {
      const controller = new AbortController()
      underway.add(controller)
      const reply = await post(transport, url, JSON.stringify(body), timeoutMs, controller)
      underway.delete(controller)
      return reply
    }
    const ask = (method: string, params: readonly unknown[]) => ({ jsonrpc: '2.0', id: ++lastId, method, params })
    const call: Call = async (method, params) => {
      if (closed) return unavailable('the connection is closed')
      const question = ask(method, params)
      const start = performance.now()
      const answer = readReply(await send(question), question.id)
      count?.(answer, performance.now() - start)
      return answer
    }
    const callInTurn = callOneByOne(call)
    let batches: 'untried' | 'known' | 'none' = 'untried'
    const callWithGenesis: Node['callWithGenesis'] = async (method, params) => {
      if (batches === 'none' || closed) return callInTurn(method, params)
      const questions = [ask(method, params), ask(...genesisQuestion)] as const
      const start = performance.now()
      const reply = await send(questions)
      const answers = readBatch(reply, questions)
      for (const answer of answers ?? []) count?.(answer, performance.now() - start)
      if (answers?.every(({ kind }) => kind === 'answered')) batches = 'known'
      // Before the first success, an HTTP response with a failure may be the node's response to every batch.
      const isFinal = batches === 'known' || !('status' in reply)
      if (answers && isFinal) return { answer: answers[0], genesis: answers[1] }
      if (!answers && batches === 'untried') batches = 'none'
      return callInTurn(method, params)
    }
    return { name, call, callWithGenesis }
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

const genesisQuestion = ['getGenesisHash', []] as const

/** Asks for the genesis hash after each answer that is not empty. */
export function callOneByOne(call: Call): Node['callWithGenesis'] {
  return async (method, params) => {
    const answer = await call(method, params)
    const isEmpty = answer.kind !== 'answered' || answer.result === null
    return { answer, genesis: isEmpty ? undefined : await call(...genesisQuestion) }
  }
}

function readReply(reply: Reply | RpcAnswer, id: number): RpcAnswer {
  if (!('status' in reply)) return reply
  return reply.text.length > longestAnswer ? tooLarge : readAnswer(parseJson(reply.text), reply, id)
}

/** The answers to two questions. Undefined if the node answered the batch as a whole, so that it has no batches. */
function readBatch(
  reply: Reply | RpcAnswer,
  [first, second]: readonly [{ readonly id: number }, { readonly id: number }],
): readonly [RpcAnswer, RpcAnswer] | undefined {
  if (!('status' in reply)) return [reply, reply]
  const value = reply.text.length > longestAnswer ? undefined : parseJson(reply.text)
  if (Array.isArray(value)) {
    const find = ({ id }: { readonly id: number }) =>
      readAnswer(
        value.find((one) => isFields(one) && one['id'] === id),
        reply,
        id,
      )
    return [find(first), find(second)]
  }
  const isOther = reply.status !== 429 && reply.status < 500 && reply.text.length <= longestAnswer
  if (isOther) return undefined
  // The node is overloaded or broken, or the answer is too large.
  const answer = readReply(reply, first.id)
  return [answer, answer]
}

/** Validates a response of JSON-RPC down to the shape of its result. */
function readAnswer(value: unknown, { status, dateMs }: Reply, id: number): RpcAnswer {
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
