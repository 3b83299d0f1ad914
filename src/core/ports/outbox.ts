/** The outbox as a port: events of payments that listeners outside are told of. */

/** What came of telling somebody. `why` holds no address. */
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
] as const
export type LedgerEventKind = (typeof ledgerEventKinds)[number]

/** Something about a payment, or about what went out, that somebody outside is to be told: at least once, and possibly more than once. */
export interface LedgerEvent {
  readonly id: string
  readonly kind: LedgerEventKind
  /** Who is to be told, by name; empty until it was spread among those who listen. */
  readonly target: string
  /** The payment; of what went out, the id of the dispatch in ASCII. */
  readonly tx: Uint8Array
  readonly at: number
  /** How often it was tried, as `told` and `failed` were heard of. */
  readonly attempts: number
  /** `waiting` to be told (again), `told`, or `failed`: not tried any more. */
  readonly state: 'waiting' | 'told' | 'failed'
  /** Why the last attempt came to nothing. */
  readonly why: string
}

export interface EventListener {
  readonly name: string
  readonly events: readonly LedgerEventKind[]
}

/**
 * Written in the same transaction as what they tell of, once `start` was called on this ledger by anybody: without a
 * listener nothing is written.
 */
export interface LedgerEvents {
  /** Of what had run out before nobody is told. */
  start(): Promise<void>
  /**
   * Writes down which payments ran out of time, unclaimed or undelivered, since it was last asked; some seconds after they
   * did, since a commit may still be on its way. Answers how many; those that ran out together may be more than `most`.
   */
  sweep(most: number): Promise<number>
  /**
   * Makes of notices that are new one for each listener that wants to hear of their kind, in one step. Answers how many
   * were new. Each listener has notices of its own, so that one that fails or is slow holds up no other.
   */
  spread(listeners: readonly EventListener[], most: number): Promise<number>
  /** Those for a listener whose time has come, the oldest first, which nobody else gets for `leaseMs`. */
  take(target: string, most: number, leaseMs: number): Promise<readonly LedgerEvent[]>
  told(id: string): Promise<void>
  /** `again` in milliseconds since 1970; undefined gives up. */
  failed(id: string, why: string, again: number | undefined): Promise<void>
  list(query: { readonly state?: LedgerEvent['state']; readonly most: number }): Promise<readonly LedgerEvent[]>
  /** Makes it due again, as if it had never been tried. False when there is none of that id. */
  resend(id: string): Promise<boolean>
}
