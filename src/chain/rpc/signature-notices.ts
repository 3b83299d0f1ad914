/**
 * Notices of a node's WebSocket that a transaction may be confirmed.
 *
 * A notice is only a hint to read the status now: the caller believes the status, never the notice. Without a socket,
 * nothing is noticed, and the caller polls.
 */

import { isFields } from '../../core/encoding/fields.ts'
import type { Clock, ConnectSocket } from '../../core/runtime.ts'
import { parseJson } from './json.ts'

export interface NoticesParts {
  readonly connect: ConnectSocket
  /** The WebSocket addresses of the nodes, the most likely one first. */
  readonly socketUrls: readonly string[]
  readonly clock: Pick<Clock, 'monotonic'>
}

export interface SignatureNotices {
  /** Asks for a notice about a transaction, which may be sent later. The caller ends it with `stop`. */
  listen(signature: string): Listening
}

export interface Listening {
  /** Whether the node has agreed to send the notice, and has not sent it yet. */
  isActive(): boolean
  /** Waits this time, or less: until the node agrees to send the notice, or sends it. */
  wait(ms: number): Promise<void>
  stop(): void
}

interface Listener {
  readonly signature: string
  /** Each listener gets one answer and one notice, so that a node cannot wake it endlessly. */
  state: 'asked' | 'active' | 'over'
  /** The node's number of the subscription. */
  subscription: number | undefined
  /** Something happened since the last wait. */
  isNews: boolean
  wake: (() => void) | undefined
}

interface State extends NoticesParts {
  socket: ReturnType<ConnectSocket> | undefined
  isOpen: boolean
  /** By the id of the question. */
  readonly listeners: Map<number, Listener>
  nextId: number
  turn: number
  /** No socket is opened before this time. */
  closedUntil: number
  timer: ReturnType<typeof setTimeout> | undefined
}

/** An idle socket serves the next payment within this time. */
const idleMs = 10_000
/** After all addresses have failed, none is tried for this time. */
const retryMs = 60_000

export function createSignatureNotices(parts: NoticesParts): SignatureNotices {
  const state: State = {
    ...parts,
    socket: undefined,
    isOpen: false,
    listeners: new Map(),
    nextId: 1,
    turn: 0,
    closedUntil: Number.NEGATIVE_INFINITY,
    timer: undefined,
  }
  return {
    listen: (signature) => {
      const listener: Listener = { signature, state: 'asked', subscription: undefined, isNews: false, wake: undefined }
      const id = state.nextId
      state.nextId += 1
      state.listeners.set(id, listener)
      clearTimeout(state.timer)
      if (state.isOpen) subscribe(state, id, listener)
      else open(state)
      return {
        isActive: () => listener.state === 'active',
        wait: (ms) => wait(listener, ms),
        stop: () => stop(state, id, listener),
      }
    },
  }
}

function wait(listener: Listener, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      listener.isNews = false
      listener.wake = undefined
      resolve()
    }
    const timer = setTimeout(end, listener.isNews ? 0 : ms)
    listener.wake = end
  })
}

function wake(listener: Listener): void {
  listener.isNews = true
  listener.wake?.()
}

function stop(state: State, id: number, listener: Listener): void {
  if (!state.listeners.delete(id)) return
  if (listener.state === 'active') ask(state, id, 'signatureUnsubscribe', [listener.subscription])
  if (state.listeners.size > 0) return
  state.timer = setTimeout(() => state.socket?.close(), idleMs)
  state.timer.unref?.()
}

function open(state: State): void {
  const url = state.socketUrls[state.turn]
  if (state.socket || url === undefined || state.clock.monotonic() < state.closedUntil) return
  state.socket = state.connect(url, {
    opened: () => {
      state.isOpen = true
      for (const [id, listener] of state.listeners) subscribe(state, id, listener)
    },
    received: (text) => receive(state, text),
    closed: () => lose(state),
  })
}

function lose(state: State): void {
  const isRefused = !state.isOpen
  state.socket = undefined
  state.isOpen = false
  if (!isRefused) {
    for (const listener of state.listeners.values()) listener.state = 'over'
    return
  }
  state.turn = (state.turn + 1) % state.socketUrls.length
  if (state.turn === 0) state.closedUntil = state.clock.monotonic() + retryMs
  else if (state.listeners.size > 0) open(state)
}

function subscribe(state: State, id: number, { signature }: Listener): void {
  ask(state, id, 'signatureSubscribe', [signature, { commitment: 'confirmed' }])
}

function ask({ socket }: State, id: number, method: string, params: readonly unknown[]): void {
  socket?.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
}

function receive({ listeners }: State, text: string): void {
  const message = parseJson(text)
  if (!isFields(message)) return
  const { id, result, method, params } = message
  const asking = typeof id === 'number' ? listeners.get(id) : undefined
  if (asking?.state === 'asked' && typeof result === 'number') {
    // The transaction may have been confirmed before the node agreed.
    asking.state = 'active'
    asking.subscription = result
    wake(asking)
  }
  if (method !== 'signatureNotification' || !isFields(params)) return
  for (const listener of listeners.values()) {
    if (listener.state !== 'active' || listener.subscription !== params['subscription']) continue
    // The node ends a subscription with its notice.
    listener.state = 'over'
    wake(listener)
  }
}
