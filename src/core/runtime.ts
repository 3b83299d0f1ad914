/**
 * Interfaces of the runtime services that core and the layers above use: time, log, trace, signatures, HTTP, sockets.
 */

/** The service's clock. All code reads the time from here. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Monotonic milliseconds, for deadlines inside one process. They include the time for which the machine slept. */
  monotonic(): number
}

export interface Log {
  info(event: string, facts?: Facts): void
  warn(event: string, facts?: Facts): void
  error(event: string, facts?: Facts): void
}
export type Facts = Readonly<Record<string, string | number | boolean | undefined>>

/** The traced operations. An unpaid request is never traced. */
export type SpanName = 'paystile.admit' | 'paystile.chain.read' | 'paystile.ledger.take' | 'paystile.forward'

/** Distributed tracing. Without a collector, the work runs untraced. */
export interface Trace {
  /**
   * `note` adds facts that are known only later. If the work throws, the span is marked as failed and the error is
   * rethrown.
   */
  span<Result>(name: SpanName, facts: Facts, work: (note: (facts: Facts) => void) => Promise<Result>): Promise<Result>
  /** Whether a collector is configured. */
  isOn(): boolean
  /** Headers that link the called service's work to the current span. Empty without a collector. */
  headers(): Readonly<Record<string, string>>
}

/** Ed25519 verification. Strict: it rejects every key or signature that the chain rejects. */
export type Verifier = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

/** The service's signing identity. */
export interface Identity {
  readonly publicKey: Uint8Array
  sign(text: Uint8Array): Uint8Array
}

/**
 * Posts JSON to a node. It follows no redirects, stops at `timeoutMs` or when `signal` fires, and reads up to
 * `longestAnswer`. A longer answer is a `RangeError`, or has undici's code.
 */
export type Transport = (
  url: string,
  body: string,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
) => Promise<{ readonly status: number; readonly text: string; readonly dateMs?: number | undefined }>

/** Sends a GET to an HTTP service. It follows no redirects, stops at `timeoutMs`, and reads up to `longestAnswer`. */
export type Get = (
  url: string,
  options: {
    readonly timeoutMs: number
    readonly signal: AbortSignal
    readonly headers?: Readonly<Record<string, string>>
  },
) => Promise<{ readonly status: number; readonly text: string }>

/** Whether the service's clock agrees with the chain's time. */
export interface ClockCheck {
  /** The problem with the clock, in one sentence. Undefined if the clock is right or its state is unknown. */
  why(): string | undefined
  /** The lead of a wrong clock; 0 while the clock is right. */
  aheadMs(): number
  /** Whether `aheadMs` holds now: the nodes were asked recently, all agree with it, and the clock was not set since. */
  isConfirmed(): boolean
}

/** The maximum number of bytes read of a node's answer: 1 MB. */
export const longestAnswer = 1_000_000

/** Opens a WebSocket. It closes exactly once, for any reason, and also if the other side falls silent. */
export type ConnectSocket = (
  url: string,
  listener: { opened(): void; received(text: string): void; closed(): void },
) => { send(text: string): void; close(): void }
