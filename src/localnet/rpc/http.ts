/** The node's HTTP interface: JSON-RPC on `/`, `GET /health`, `POST /faucet`. Loopback only. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answer, answerError, call, type Request, readBody, readRequest } from './dispatch.ts'
import { invalidRequest } from './wire/errors.ts'
import type { FaultRule, FaultState } from './wire/faults.ts'
import { stringifyJson } from './wire/json.ts'
import type { Node } from './wire/node.ts'

const maxBodyBytes = 50 * 1024
const maxBatch = 1000

export interface HttpParts {
  /** The node as seen by a caller with these faults. */
  nodeFor(rule: FaultRule): Node
  readonly faults: FaultState
  /** Serves `POST /faucet`. It takes the body as text, and returns a status and JSON. */
  faucet(body: string): Promise<{ readonly status: number; readonly json: unknown }>
}

export function createHttpHandler(parts: HttpParts): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    handle(request, response, parts).catch(() => {
      if (!response.headersSent) reply(response, 500, '{"error":"internal error"}')
      else response.destroy()
    })
  }
}

async function handle(request: IncomingMessage, response: ServerResponse, parts: HttpParts): Promise<void> {
  const { origin } = request.headers
  if (!isLocal(request)) return reply(response, 403, 'Provided Host header is not whitelisted.\n', 'text/plain')
  if (origin !== undefined) allowOrigin(response, origin)
  const path = (request.url ?? '/').split('?')[0]
  if (request.method === 'OPTIONS') return reply(response, 204, '')
  if (request.method === 'GET' && path === '/health') return reply(response, 200, 'ok', 'text/plain')
  if (request.method !== 'POST')
    return reply(response, 405, 'Used HTTP Method is not allowed. POST or OPTIONS is required\n', 'text/plain')
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    const text = 'Supplied content type is not allowed. Content-Type: application/json is required\n'
    return reply(response, 415, text, 'text/plain')
  }
  const body = await readText(request)
  if (body === undefined) return reply(response, 413, 'Request body size exceeds limit\n', 'text/plain')
  if (path === '/faucet') return serveFaucet(body, response, parts)
  if (path !== '/') return reply(response, 404, '{"error":"not found"}')
  return serveRpc(body, response, parts)
}

async function serveFaucet(body: string, response: ServerResponse, parts: HttpParts): Promise<void> {
  const rule = parts.faults.take('/faucet')
  if (await spoil(response, rule)) return
  const { status, json } = await parts.faucet(body)
  reply(response, status, stringifyJson(json))
}

async function serveRpc(body: string, response: ServerResponse, parts: HttpParts): Promise<void> {
  let parsed: unknown
  try {
    parsed = readBody(body)
    if (Array.isArray(parsed) && (parsed.length === 0 || parsed.length > maxBatch)) throw invalidRequest()
  } catch (error) {
    return reply(response, 200, `${stringifyJson(answerError(error, null))}\n`)
  }
  const batch = Array.isArray(parsed)
  const plans = (batch ? (parsed as unknown[]) : [parsed]).map((value) => plan(value, parts.faults))
  for (const { rule } of plans) if (await spoil(response, rule)) return
  const answers: Answer[] = []
  for (const one of plans) {
    const answer = await answerOne(one, parts)
    if (answer) answers.push(answer)
  }
  // Notifications (calls without an id) get no response.
  if (answers.length === 0) return reply(response, 200, '')
  const text = stringifyJson(batch ? answers : answers[0])
  const spoiled = plans.map(({ rule }) => rule.body).find((kind) => kind !== undefined)
  replySpoiled(response, `${text}\n`, spoiled)
}

interface Plan {
  readonly request: Request | undefined
  readonly rule: FaultRule
}

function plan(value: unknown, faults: FaultState): Plan {
  try {
    const request = readRequest(value)
    return { request, rule: faults.take(request.method) }
  } catch {
    return { request: undefined, rule: {} }
  }
}

async function answerOne({ request, rule }: Plan, parts: HttpParts): Promise<Answer | undefined> {
  if (!request) return answerError(invalidRequest(), null)
  const answer = await answerRequest(request, rule, parts)
  if (request.id === undefined) return undefined
  return rule.body === 'wrong-id' ? { ...answer, id: 'another id' } : answer
}

async function answerRequest(request: Request, rule: FaultRule, { nodeFor, faults }: HttpParts): Promise<Answer> {
  const { id } = request
  if (rule.error) return { jsonrpc: '2.0', error: { ...rule.error }, id }
  let answer: Answer
  try {
    answer = { jsonrpc: '2.0', result: call(request, nodeFor(rule)), id }
  } catch (error) {
    answer = answerError(error, id)
  }
  const intercept = faults.intercept()
  return intercept ? { jsonrpc: '2.0', ...(await intercept(request.method, request.params, answer)), id } : answer
}

/** Applies the faults that precede a response. True if there is no response. */
async function spoil(response: ServerResponse, rule: FaultRule): Promise<boolean> {
  if (rule.latencyMs) await new Promise((done) => setTimeout(done, rule.latencyMs))
  if (rule.drop) {
    response.socket?.resetAndDestroy()
    return true
  }
  if (rule.status === undefined) return false
  if (rule.retryAfterSeconds !== undefined) response.setHeader('retry-after', String(rule.retryAfterSeconds))
  reply(response, rule.status, rule.status === 429 ? 'Too Many Requests\n' : 'Server error\n', 'text/plain')
  return true
}

function replySpoiled(response: ServerResponse, text: string, body: FaultRule['body']): void {
  if (body === 'html') reply(response, 200, '<html><body>Bad gateway</body></html>', 'text/html')
  else if (body === 'truncated') reply(response, 200, text.slice(0, Math.floor(text.length / 2)))
  else reply(response, 200, body === 'empty' ? '' : text)
}

function reply(response: ServerResponse, status: number, text: string, type = 'application/json; charset=utf-8'): void {
  if (response.headersSent || response.destroyed) return
  if (status === 204) {
    response.writeHead(204).end()
    return
  }
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text)
}

/**
 * Rejects requests from other sites: by a foreign name that resolves to this machine (Host), or by plain cross-site
 * requests (Origin).
 */
export function isLocal({ headers }: IncomingMessage): boolean {
  if (!isLoopback(headers.host)) return false
  if (headers.origin === undefined) return true
  const host = /^https?:\/\/([^/]+)$/.exec(headers.origin)?.[1]
  return isLoopback(host)
}

function isLoopback(host: string | undefined): boolean {
  return host !== undefined && /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(host)
}

function allowOrigin(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('vary', 'Origin')
  response.setHeader('access-control-allow-methods', 'POST, GET, OPTIONS')
  response.setHeader('access-control-allow-headers', 'content-type, solana-client')
  response.setHeader('access-control-max-age', '86400')
}

/** Reads the body. Undefined if it exceeds a validator's limit. */
async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length <= maxBodyBytes) chunks.push(chunk)
    else if (length > 64 * maxBodyBytes) request.destroy()
  }
  return length > maxBodyBytes ? undefined : Buffer.concat(chunks).toString('utf8')
}
