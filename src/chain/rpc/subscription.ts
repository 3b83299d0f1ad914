/** A WebSocket to one node after another that tells of transactions which mention the watched addresses. */
import type { Meter } from '../../core/encoding/metrics.ts'
import type { ConnectSocket, Log } from '../../core/runtime.ts'
import { isFields, parseJson } from './json.ts'

export interface SubscriptionParts {
  readonly connect: ConnectSocket
  /** Where each node listens, the likeliest address first. */
  readonly socketUrls: readonly (readonly string[])[]
  readonly log: Log
  readonly meter?: Meter
  /** A transaction that succeeded mentions a watched address. */
  readonly heard: (signature: string) => void
  /** Everything from here on will be told; what came before must be read from lists. */
  readonly subscribed: () => void
}

export interface Subscription {
  subscribe(address: string): void
  /** The connection that tells of every address now, as a number; 0 when there is none. */
  connection(): number
  /** All that came before a connection was read from lists. */
  caughtUp(connection: number): void
  isCurrent(): boolean
  /** Leaves this connection for another. */
  restart(): void
  close(): void
}

const firstPauseMs = 500
const longestPauseMs = 30_000

export function createSubscription(parts: SubscriptionParts): Subscription {
  const { connect, log, meter, heard, subscribed } = parts
  const urls = parts.socketUrls.flat()
  const addresses: string[] = []
  let socket: ReturnType<ConnectSocket> | undefined
  let isOpen = false
  /** Subscriptions that the node has not confirmed yet. Its id is the place of the address in the list, plus one. */
  const waiting = new Set<number>()
  let generation = 0
  let caughtUpTo = 0
  let turn = 0
  let pauseMs = firstPauseMs
  let timer: ReturnType<typeof setTimeout> | undefined
  let closed = false

  const isSubscribed = () => isOpen && waiting.size === 0
  const isCurrent = () => isSubscribed() && caughtUpTo === generation
  const tell = () => meter?.set('paystile_watcher_current', isCurrent() ? 1 : 0)

  function open(): void {
    const url = urls[turn % urls.length]
    if (closed || socket || url === undefined) return
    const opened = connect(url, {
      opened: () => {
        if (opened !== socket) return
        meter?.count('paystile_watcher_connections_total')
        isOpen = true
        for (const index of addresses.keys()) ask(index)
      },
      received: (text) => {
        if (opened === socket) receive(text)
      },
      closed: () => {
        if (opened === socket) lose()
      },
    })
    socket = opened
  }

  /** Tries the next address, after a while that grows until one of them works. */
  function lose(): void {
    if (isCurrent()) log.warn('watcher.silent', { why: 'the WebSocket was closed; payments are read from lists' })
    socket = undefined
    isOpen = false
    generation += 1
    waiting.clear()
    tell()
    if (closed) return
    turn += 1
    timer = setTimeout(open, pauseMs)
    timer.unref?.()
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }

  function ask(index: number): void {
    waiting.add(index)
    const params = [{ mentions: [addresses[index]] }, { commitment: 'confirmed' }]
    socket?.send(JSON.stringify({ jsonrpc: '2.0', id: index + 1, method: 'logsSubscribe', params }))
  }

  function receive(text: string): void {
    const message = parseJson(text)
    if (!isFields(message)) return
    if (message['method'] === 'logsNotification') hear(message['params'])
    const { id } = message
    if (typeof id !== 'number' || !waiting.delete(id - 1)) return
    // A node that does not do this is left for the next one.
    if (message['result'] === undefined) restart()
    else if (waiting.size === 0) {
      pauseMs = firstPauseMs
      generation += 1
      subscribed()
    }
  }

  function hear(params: unknown): void {
    const result = isFields(params) ? params['result'] : undefined
    const value = isFields(result) ? result['value'] : undefined
    if (!isFields(value) || value['err'] !== null || typeof value['signature'] !== 'string') return
    heard(value['signature'])
  }

  function restart(): void {
    const old = socket
    if (!old) return
    lose()
    old.close()
  }

  return {
    subscribe: (address) => {
      addresses.push(address)
      if (isOpen) ask(addresses.length - 1)
      else open()
      tell()
    },
    connection: () => (isSubscribed() ? generation : 0),
    caughtUp: (connection) => {
      if (connection !== 0 && connection === generation) caughtUpTo = connection
      tell()
    },
    isCurrent,
    restart,
    close: () => {
      closed = true
      clearTimeout(timer)
      const old = socket
      socket = undefined
      isOpen = false
      old?.close()
    },
  }
}
