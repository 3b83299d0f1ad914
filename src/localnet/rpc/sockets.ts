/** WebSockets: one JSON-RPC connection each, with subscriptions. Slow and dead connections are closed. */
import type { Server } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import { type Answer, answerError, readBody, readRequest } from './dispatch.ts'
import { isLocal } from './http.ts'
import type { Hub } from './hub.ts'
import { readTopic } from './subscriptions.ts'
import { invalidParams, methodNotFound } from './wire/errors.ts'
import type { FaultState } from './wire/faults.ts'
import { stringifyJson } from './wire/json.ts'
import { readInteger, readParams, requireParams } from './wire/params.ts'

const maxSubscriptions = 1_000
const maxMessageBytes = 64 * 1024
/** A client that lags this far behind does not read. */
const maxBufferedBytes = 8 * 1024 * 1024

export interface SocketLimits {
  readonly maxSockets: number
  readonly heartbeatMs: number
}

export function serveSockets(
  servers: readonly Server[],
  hub: Hub,
  faults: FaultState,
  { maxSockets, heartbeatMs }: SocketLimits = { maxSockets: 1_000, heartbeatMs: 30_000 },
) {
  const server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, clientTracking: true })
  const alive = new WeakSet<WebSocket>()
  for (const http of servers) {
    http.on('upgrade', (request, socket, head) => {
      if (!isLocal(request) || server.clients.size >= maxSockets) {
        socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n')
        return
      }
      server.handleUpgrade(request, socket, head, (client) => {
        alive.add(client)
        converse(client, hub, faults)
      })
    })
  }
  const heartbeat = setInterval(() => {
    for (const client of server.clients) checkPulse(client, alive)
  }, heartbeatMs)
  heartbeat.unref()
  const dropAll = () => {
    for (const client of server.clients) client.terminate()
  }
  faults.onDropSockets(dropAll)
  return {
    close() {
      clearInterval(heartbeat)
      dropAll()
      server.close()
    },
  }
}

export type Sockets = ReturnType<typeof serveSockets>

function checkPulse(client: WebSocket, alive: WeakSet<WebSocket>): void {
  if (!alive.has(client)) {
    client.terminate()
    return
  }
  alive.delete(client)
  client.once('pong', () => alive.add(client))
  client.ping()
}

function converse(client: WebSocket, hub: Hub, faults: FaultState): void {
  const owned = new Set<number>()

  function send(message: unknown): void {
    if (faults.silent() || client.readyState !== client.OPEN) return
    if (client.bufferedAmount > maxBufferedBytes) client.terminate()
    else client.send(stringifyJson(message))
  }

  function run(method: string, params: unknown): unknown {
    const list = readParams(params)
    if (method.endsWith('Unsubscribe')) {
      requireParams(list, 1)
      const id = readInteger(list[0])
      if (!owned.delete(id)) throw invalidParams('Invalid subscription id.')
      return hub.unsubscribe(id)
    }
    if (needsSubject.has(method)) requireParams(list, 1)
    const topic = readTopic(method, list)
    if (!topic) throw methodNotFound()
    if (owned.size >= maxSubscriptions) throw invalidParams('Too many subscriptions on one connection')
    const id = hub.subscribe(topic, (name, notice) => send({ jsonrpc: '2.0', method: name, params: notice }))
    owned.add(id)
    return id
  }

  function answer(value: unknown): Answer | undefined {
    let id: unknown = null
    try {
      const request = readRequest(value)
      id = request.id
      // Clients keep the connection alive with a `ping` that expects no response.
      if (request.id === undefined) return undefined
      return { jsonrpc: '2.0', result: run(request.method, request.params), id }
    } catch (error) {
      return answerError(error, id)
    }
  }

  client.on('message', (data) => {
    let parsed: unknown
    try {
      parsed = readBody(data.toString())
    } catch (error) {
      send(answerError(error, null))
      return
    }
    if (!Array.isArray(parsed)) {
      const one = answer(parsed)
      if (one) send(one)
      return
    }
    const answers = parsed.flatMap((value) => answer(value) ?? [])
    if (answers.length > 0) send(answers)
  })
  client.on('error', () => client.terminate())
  client.on('close', () => {
    for (const id of owned) hub.unsubscribe(id)
  })
}

const needsSubject: ReadonlySet<string> = new Set([
  'accountSubscribe',
  'programSubscribe',
  'logsSubscribe',
  'signatureSubscribe',
  'blockSubscribe',
])
