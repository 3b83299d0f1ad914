/** A WebSocket to one node at a time that reports transactions which mention the watched addresses. */

import { isFields } from '../../core/encoding/fields.ts'
import type { Meter } from '../../core/observability/metrics.ts'
import type { ConnectSocket, Log } from '../../core/runtime.ts'
import { parseJson } from './json.ts'

export interface SubscriptionParts {
  readonly connect: ConnectSocket
  /** The WebSocket addresses of each node, the most likely one first. */
  readonly socketUrls: readonly (readonly string[])[]
  readonly log: Log
  readonly meter?: Meter
  /** A successful transaction mentions a watched address. */
  readonly heard: (signature: string) => void
  /** The socket reports everything from here on. Earlier transactions must be read from lists. */
  readonly subscribed: () => void
}

const firstPauseMs = 500
const longestPauseMs = 30_000

interface State extends SubscriptionParts {
  readonly urls: readonly string[]
  readonly addresses: string[]
  socket: ReturnType<ConnectSocket> | undefined
  isOpen: boolean
  /** Subscriptions that the node has not confirmed yet. An id is the index of the address in the list, plus one. */
  readonly waiting: Set<number>
  generation: number
  caughtUpTo: number
  turn: number
  pauseMs: number
  timer: ReturnType<typeof setTimeout> | undefined
  isClosed: boolean
}

export function createSubscription(parts: SubscriptionParts) {
  const state: State = {
    ...parts,
    urls: parts.socketUrls.flat(),
    addresses: [],
    socket: undefined,
    isOpen: false,
    waiting: new Set(),
    generation: 0,
    caughtUpTo: 0,
    turn: 0,
    pauseMs: firstPauseMs,
    timer: undefined,
    isClosed: false,
  }
  return {
    subscribe: (address: string) => {
      state.addresses.push(address)
      if (state.isOpen) ask(state, state.addresses.length - 1)
      else open(state)
      report(state)
    },
    /** The number of the connection that reports all addresses now; 0 if there is none. */
    connection: () => (isSubscribed(state) ? state.generation : 0),
    /** All transactions before a connection were read from lists. */
    caughtUp: (connection: number) => {
      if (connection !== 0 && connection === state.generation) state.caughtUpTo = connection
      report(state)
    },
    isCurrent: () => isCurrent(state),
    /** Replaces this connection with another. */
    restart: () => restart(state),
    close: () => {
      state.isClosed = true
      clearTimeout(state.timer)
      const old = state.socket
      state.socket = undefined
      state.isOpen = false
      old?.close()
    },
  }
}

function isSubscribed({ isOpen, waiting }: State): boolean {
  return isOpen && waiting.size === 0
}

function isCurrent(state: State): boolean {
  return isSubscribed(state) && state.caughtUpTo === state.generation
}

function report(state: State): void {
  state.meter?.set('paystile_watcher_current', isCurrent(state) ? 1 : 0)
}

function open(state: State): void {
  const url = state.urls[state.turn % state.urls.length]
  if (state.isClosed || state.socket || url === undefined) return
  const opened = state.connect(url, {
    opened: () => {
      if (opened !== state.socket) return
      state.meter?.count('paystile_watcher_connections_total')
      state.isOpen = true
      for (const index of state.addresses.keys()) ask(state, index)
    },
    received: (text) => {
      if (opened === state.socket) receive(state, text)
    },
    closed: () => {
      if (opened === state.socket) lose(state)
    },
  })
  state.socket = opened
}

/** Tries the next address after a delay, which grows until one of them works. */
function lose(state: State): void {
  if (isCurrent(state))
    state.log.warn('watcher.silent', { why: 'the WebSocket closed; payments are polled until it reconnects' })
  state.socket = undefined
  state.isOpen = false
  state.generation += 1
  state.waiting.clear()
  report(state)
  if (state.isClosed) return
  state.turn += 1
  state.timer = setTimeout(() => open(state), state.pauseMs)
  state.timer.unref?.()
  state.pauseMs = Math.min(state.pauseMs * 2, longestPauseMs)
}

function ask({ waiting, addresses, socket }: State, index: number): void {
  waiting.add(index)
  const params = [{ mentions: [addresses[index]] }, { commitment: 'confirmed' }]
  socket?.send(JSON.stringify({ jsonrpc: '2.0', id: index + 1, method: 'logsSubscribe', params }))
}

function receive(state: State, text: string): void {
  const message = parseJson(text)
  if (!isFields(message)) return
  if (message['method'] === 'logsNotification') readNotification(state, message['params'])
  const { id } = message
  if (typeof id !== 'number' || !state.waiting.delete(id - 1)) return
  // If a node does not support subscriptions, the next node is used.
  if (message['result'] === undefined) restart(state)
  else if (state.waiting.size === 0) {
    state.pauseMs = firstPauseMs
    state.generation += 1
    state.subscribed()
  }
}

function readNotification({ heard }: State, params: unknown): void {
  const result = isFields(params) ? params['result'] : undefined
  const value = isFields(result) ? result['value'] : undefined
  if (!isFields(value) || value['err'] !== null || typeof value['signature'] !== 'string') return
  heard(value['signature'])
}

/** Replaces this connection with another. */
function restart(state: State): void {
  const old = state.socket
  if (!old) return
  lose(state)
  old.close()
}
