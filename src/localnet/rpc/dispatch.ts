/** Turns the text of a request into the text of a response: single calls and batches of JSON-RPC 2.0. */
import { accountMethods } from './methods/accounts.ts'
import { adminMethods } from './methods/admin.ts'
import { blockMethods } from './methods/blocks.ts'
import { clusterMethods } from './methods/cluster.ts'
import { historyMethods } from './methods/history.ts'
import { submitMethods } from './methods/submit.ts'
import { supplyMethods } from './methods/supply.ts'
import { tokenMethods } from './methods/tokens.ts'
import { invalidRequest, methodNotFound, parseError, RpcError } from './wire/errors.ts'
import { parseJson } from './wire/json.ts'
import type { Method, Methods, Node } from './wire/node.ts'
import { readParams, requireParams } from './wire/params.ts'

const methods: ReadonlyMap<string, Method> = new Map(
  Object.entries<Method>({
    ...accountMethods,
    ...adminMethods,
    ...blockMethods,
    ...clusterMethods,
    ...historyMethods,
    ...submitMethods,
    ...supplyMethods,
    ...tokenMethods,
  } satisfies Methods),
)

export interface Request {
  readonly id: unknown
  readonly method: string
  readonly params: unknown
}

export type Answer =
  | { readonly jsonrpc: '2.0'; readonly result: unknown; readonly id: unknown }
  | { readonly jsonrpc: '2.0'; readonly error: Readonly<Record<string, unknown>>; readonly id: unknown }

export function readBody(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw parseError()
  }
}

export function readRequest(value: unknown): Request {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidRequest()
  const { jsonrpc, id, method, params } = value as Record<string, unknown>
  if (jsonrpc !== '2.0' || typeof method !== 'string') throw invalidRequest()
  if (typeof id === 'object' && id !== null) throw invalidRequest()
  return { id, method, params }
}

export function answerError(error: unknown, id: unknown): Answer {
  const known = error instanceof RpcError ? error : new RpcError(-32603, 'Internal error', String(error))
  const data = known.data === undefined ? {} : { data: known.data }
  return { jsonrpc: '2.0', error: { code: known.rpcCode, message: known.message, ...data }, id: id ?? null }
}

export function call({ method, params }: Request, node: Node): unknown {
  const found = methods.get(method)
  if (!found) throw methodNotFound()
  const list = readParams(params)
  requireParams(list, found.required)
  return found.run(list, node)
}
