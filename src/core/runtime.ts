/** The runtime's services that core and the layers above it use, as interfaces: time, log, trace, signatures, HTTP, sockets. */

/** The service's agreed time. Nothing else may ask what time it is. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds that only go forward, for deadlines inside one process. */
  monotonic(): number
}

export interface Log {
  info(event: string, facts?: Facts): void
  warn(event: string, facts?: Facts): void
  error(event: string, facts?: Facts): void
}
export type Facts = Readonly<Record<string, string | number | boolean | undefined>>

/** The work that is followed. Never what an unpaid request does. */
export type SpanName = 'paystile.admit' | 'paystile.chain.read' | 'paystile.ledger.take' | 'paystile.forward'

/** Follows work through services, where somebody collects that; else the work is done and nothing more. */
export interface Trace {
  /** `note` adds what is known only later. Work that throws is marked as failed, and throws all the same. */
  span<Result>(name: SpanName, facts: Facts, work: (note: (facts: Facts) => void) => Promise<Result>): Promise<Result>
  /** Whether anybody collects spans. */
  isOn(): boolean
  /** Headers by which the service that is called now knows what its work belongs to; none without a collector. */
  headers(): Readonly<Record<string, string>>
}

/** Ed25519. Strict: a key or signature that the chain itself would not accept is not valid here either. */
export type Verifier = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

/** Signs for a service. */
export interface Identity {
  readonly publicKey: Uint8Array
  sign(text: Uint8Array): Uint8Array
}

/** Posts JSON to a node. Follows no redirect, gives up at `timeoutMs` or when `signal` fires, reads `longestAnswer`. */
export type Transport = (
  url: string,
  body: string,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
) => Promise<{ readonly status: number; readonly text: string; readonly dateMs?: number | undefined }>

/** Asks an HTTP service. Follows no redirect, has its answer by `timeoutMs` or gives up, reads `longestAnswer`. */
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
  /** Why the clock is wrong, in one sentence. Undefined while it is right, or nothing is known. */
  why(): string | undefined
  /** How far a wrong clock is ahead; 0 while it is right. */
  aheadMs(): number
}

/** How much of a node's answer is read at the most: 1 MB. */
export const longestAnswer = 1_000_000

/** Opens a WebSocket. It is closed once, whatever the reason, and by itself when the other side falls silent. */
export type ConnectSocket = (
  url: string,
  listener: { opened(): void; received(text: string): void; closed(): void },
) => { send(text: string): void; close(): void }
