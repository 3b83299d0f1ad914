/** The outbox as a port: payment events for external listeners. */

/** The result of sending a message. `why` contains no address. */
export type Posted =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'failed'; readonly why: string }

export const ledgerEventKinds = [
  'payment.confirmed',
  'payment.finalized',
  'payment.reverted',
  'payment.expired',
  'payment.undelivered',
  'reward.paid',
  'settlement.converted',
  'refund.sent',
  'sponsor.low',
] as const
export type LedgerEventKind = (typeof ledgerEventKinds)[number]

/**
 * An event about a payment or an outgoing transaction. It is delivered to external listeners at least once, possibly
 * more often.
 */
export interface LedgerEvent {
  readonly id: string
  readonly kind: LedgerEventKind
  /** The name of the listener. Empty until the event was distributed to the listeners. */
  readonly target: string
  /** The payment. For an outgoing transaction, its id in ASCII. For `sponsor.low`, a `SponsorNotice` in JSON. */
  readonly tx: Uint8Array
  readonly at: number
  /** The number of attempts with a recorded result. */
  readonly attempts: number
  /** `waiting` for the next attempt, `told`, or `failed` without further attempts. */
  readonly state: 'waiting' | 'told' | 'failed'
  /** The reason of the last failure. */
  readonly why: string
}

export interface EventListener {
  readonly name: string
  readonly events: readonly LedgerEventKind[]
}

/**
 * Events of payments are written in the same transaction as the change that they report, after any server called
 * `start` on this ledger. Without listeners, no events are written.
 */
export interface LedgerEvents {
  /** Payments that expired before the start cause no events. */
  start(): Promise<void>
  /**
   * Records the payments that expired, unclaimed or undelivered, since the last call. It lags by some seconds, because
   * a commit may still be in flight. Returns their number, which can exceed `most` if several expired at the same time.
   */
  sweep(most: number): Promise<number>
  /** Records a notice of the service itself. */
  notify(kind: 'sponsor.low', about: Uint8Array): Promise<void>
  /**
   * Copies each new event to every listener that wants its kind, in one step. Returns the number of new events. Each
   * listener has its own copies, so that a failing or slow listener does not delay others.
   */
  spread(listeners: readonly EventListener[], most: number): Promise<number>
  /** The due events of a listener, the oldest first. They are leased to the caller for `leaseMs`. */
  take(target: string, most: number, leaseMs: number): Promise<readonly LedgerEvent[]>
  told(id: string): Promise<void>
  /**
   * `again` is the time of the next attempt, in milliseconds since 1970. Undefined ends the attempts. An event that was
   * told meanwhile stays so.
   */
  failed(id: string, why: string, again: number | undefined): Promise<void>
  list(query: {
    readonly id?: string
    readonly state?: LedgerEvent['state']
    readonly most: number
  }): Promise<readonly LedgerEvent[]>
  /** Makes the event due again, as if it had never been tried. False if the id is unknown. */
  resend(id: string): Promise<boolean>
}
