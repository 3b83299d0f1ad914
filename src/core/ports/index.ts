/** What core, chain and server need from the outside, as interfaces. Every adapter keeps one contract, proven by one suite. */
import type { FrozenRates, JournaledRates } from '../money/rates.ts'
import type { Mint, TokenCode } from '../money/tokens.ts'
import type { Allowance } from '../payment/allowance.ts'
import type { Consequence } from '../payment/delivery.ts'
import type { Effect, PaymentOption } from '../payment/verify.ts'
import type { Discrepancy } from '../payouts/discrepancy.ts'
import type { Dispatches, Rewards } from '../payouts/ports.ts'

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

/** The time according to a node, in milliseconds since 1970. */
export interface ChainTime {
  readonly chainMs: number
  /** The node's own clock, where its HTTP answer tells it. */
  readonly nodeMs: number | undefined
}

/** Whether the service's clock agrees with the chain's time. */
export interface ClockCheck {
  /** Why the clock is wrong, in one sentence. Undefined while it is right, or nothing is known. */
  why(): string | undefined
  /** How far a wrong clock is ahead; 0 while it is right. */
  aheadMs(): number
}

/** How much of a node's answer is read at the most: 1 MB. */
export const longestAnswer = 1_000_000

export type Reading =
  | { readonly kind: 'found'; readonly effect: Effect }
  | { readonly kind: 'missing' }
  /** `isUnreadable` where nodes have the transaction and what they say of it cannot be judged. */
  | { readonly kind: 'unavailable'; readonly why: string; readonly isUnreadable?: boolean }
  | { readonly kind: 'disagreement'; readonly why: string }

/** How sure the chain must be of a transaction: `confirmed` may in theory be taken back, `finalized` may not. */
export type Commitment = 'confirmed' | 'finalized'

/** What became of a transaction that was confirmed once. */
export type Fate =
  | 'finalized'
  /** It is not on the chain, and for its blockhash cannot come back; or it came back and failed. */
  | 'reverted'
  /** Nobody can tell yet. */
  | 'open'

export interface ReadOptions {
  readonly commitment?: Commitment
  /** For somebody who named transactions that do not exist: many such are looked up together before one is read. */
  readonly isDoubtful?: boolean
  /** Not what the watcher has seen, but what the nodes say now. */
  readonly isAnew?: boolean
}

/** The chain, read through one or more nodes that may be slow, wrong or lying. */
export interface Chain {
  /** What a transaction did. Waits up to `waitMs` for it to appear; simultaneous readers of one share one read. */
  read(signature: string, waitMs: number, options?: ReadOptions): Promise<Reading>
  /** What a transaction did, if it was read within the last minute. Asks nobody. */
  seen(signature: string): Effect | undefined
  /** Reads payments to an address as they land, from now on or from where the journal stands. */
  watch(address: string): void
  /** What became of transactions, each with the slot in which it was confirmed. */
  fatesOf(landed: readonly { readonly signature: string; readonly slot: number }[]): Promise<readonly Fate[]>
  close(): Promise<void>
}

/** What came of telling somebody. `why` holds no address. */
export type Posted =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'failed'; readonly why: string }

/** Opens a WebSocket. It is closed once, whatever the reason, and by itself when the other side falls silent. */
export type ConnectSocket = (
  url: string,
  listener: { opened(): void; received(text: string): void; closed(): void },
) => { send(text: string): void; close(): void }

/** What became of an attempt to open a token account. */
export type Opening =
  | { readonly kind: 'opened'; readonly tx: string }
  | { readonly kind: 'failed'; readonly why: string }
  /** It was tried a short while ago. */
  | { readonly kind: 'resting' }

/** A payment that somebody else is to sign. */
export interface PaymentDraft {
  /** Who pays, and signs. */
  readonly account: string
  readonly recipient: string
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  readonly units: bigint
  readonly requestId: string
  /** An address that is only mentioned, so that the payment can be found by it. */
  readonly reference: string
}

export type Drafting =
  /** The transaction without its signature, base64. */
  | { readonly kind: 'transaction'; readonly transaction: string }
  /** The wallet has too little of the token, or of SOL for the fee. */
  | { readonly kind: 'short'; readonly of: 'token' | 'fee'; readonly has: bigint; readonly needs: bigint }
  | { readonly kind: 'impossible'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

/** A signed transaction, as far as it can be read without running it. */
export interface SignedDraft {
  /** Base64. */
  readonly wire: string
  readonly signature: string
  /** A slot at which a node knew the block that it is built on. */
  readonly slot: number
}

export type DraftReading =
  /** `isFresh`: it is built on a recent block, so that it is known until when it can land. */
  | { readonly kind: 'signed'; readonly signed: SignedDraft; readonly isFresh: boolean }
  /** Not signed by all who must, or its memo is not the requestId. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'unavailable' }

export type Posting = { readonly kind: 'sent' } | { readonly kind: 'rejected' | 'unknown'; readonly why: string }

/** One of the ways in which a purchase may be paid. */
export interface DraftOption extends Pick<PaymentOption, 'asset' | 'units' | 'destination'> {
  /** What has to be sent for `units` to arrive, where the token takes a fee. */
  readonly gross: bigint
}

export type DraftTrial =
  | { readonly kind: 'pays' }
  /** It would fail, or pays something else or too little. */
  | { readonly kind: 'fails' | 'foreign'; readonly why: string }
  | { readonly kind: 'unavailable' }

/** Drafts payments for people who pay with a wallet of their own, and sends what they signed. It has no key. */
export interface Cashier {
  draft(draft: PaymentDraft): Promise<Drafting>
  /** Reads what a wallet signed. */
  read(bytes: Uint8Array, requestId: string): Promise<DraftReading>
  /** Whether what a wallet signed would succeed now and pay by one of these ways. Nodes see it without its signatures. */
  tryOut(bytes: Uint8Array, options: readonly DraftOption[]): Promise<DraftTrial>
  send(signed: SignedDraft): Promise<Posting>
  /** `over`: it failed, or can no longer land, so that another may be made. */
  fateOf(signed: SignedDraft): Promise<'landed' | 'over' | 'open'>
}

/** What the ledger keeps of a payment. People appear as pseudonyms only. */
export interface PaymentRecord {
  /** The 64 bytes of the transaction's signature: the one key under which a payment exists. */
  readonly tx: Uint8Array
  /** Pseudonym of the requestId it paid. */
  readonly request: string
  /** Pseudonym of the payer. */
  readonly payer: string
  readonly scope: string
  readonly recipient: string
  readonly token: TokenCode
  readonly required: bigint
  readonly received: bigint
  readonly allowance: Allowance
  readonly slot: number
  /** Milliseconds since 1970, as all times of the ledger. */
  readonly paidAt: number
  /** Until when what it bought can be used. */
  readonly usableUntil: number
  /** Whether the chain might still take it back. */
  readonly finality: 'confirmed' | 'finalized'
  /** What was paid for, as the provider names it: a path. */
  readonly endpoint: string
  /** What it was worth in the report token at its block time, in units of 10⁻¹²; undefined without a rate. */
  readonly worth: bigint | undefined
  /** By which that was reckoned, and by which it can be reckoned anew. */
  readonly rates: FrozenRates | undefined
}

/** One use of an allowance, held while a response is made. A rival with a later fence makes it void. */
export interface Grant {
  readonly tx: Uint8Array
  readonly fence: bigint
  readonly amount: bigint
  /** The position in a file from which it may be sent; 0 for all other units. */
  readonly from: bigint
}

/** How a payment stands, without touching it. */
export interface Standing {
  readonly request: string
  readonly payer: string
  readonly scope: string
  readonly token: TokenCode
  readonly received: bigint
  /** `reverted`: the chain took the payment back. What had been used of it stays used, should it land again. */
  readonly state: 'open' | 'busy' | 'spent' | 'late' | 'reverted'
  readonly allowance: Allowance
  readonly remaining: bigint
  /** Milliseconds since 1970. */
  readonly usableUntil: number
}

export type Taken =
  | { readonly kind: 'granted'; readonly grant: Grant; readonly remaining: bigint }
  /** All that is left is under somebody's lease. */
  | { readonly kind: 'busy' }
  /** Used up, delivered too often, past its time, or refunded. */
  | { readonly kind: 'spent' }
  /** The transaction was used for another requestId. */
  | { readonly kind: 'foreign' }
  /** Never registered, and no record was given to register it. */
  | { readonly kind: 'unknown' }

export interface Take {
  readonly tx: Uint8Array
  /** Pseudonym of the requestId the proof names. */
  readonly request: string
  /** Registers the payment if it is new. Left out when it is known to be registered. */
  readonly payment?: PaymentRecord
  /** The most that is wanted; the grant says how much it is. */
  readonly amount: bigint
  /** The first position that is wanted of a file. */
  readonly from?: bigint
  readonly leaseMs: number
}

/**
 * The durable record of payments and grants, and the only thing on which all replicas must agree.
 *
 * Promise: at most one live grant on any part of an allowance, no grant after that part was settled, and an
 * acknowledged answer survives the death of the process. A store that cannot be reached throws `LedgerUnavailable`.
 */
export interface Ledger {
  /** A clock of its own by which it judges leases, where it has one: the service then goes by the same. */
  readonly clock?: Clock
  /** What is written down beside the payments, in the same store. Without one nothing is watched. */
  readonly journal?: Journal
  /** What the payments add up to, and their list. */
  readonly books?: Books
  /** Small things that all servers must know of, for a while. */
  readonly shelf?: Shelf
  /** What somebody outside is to be told. */
  readonly notices?: Notices
  /** Who is owed what of the payments. */
  readonly rewards?: Rewards
  /** What goes out. */
  readonly dispatches?: Dispatches
  /** Rates as they were believed. Without it a payment is valued by the rates of the moment at which it is registered. */
  readonly rates?: RateJournal
  peek(tx: Uint8Array): Promise<Standing | undefined>
  /** Registers and takes in one atomic step. */
  take(take: Take): Promise<Taken>
  /** Extends a lease. False when it was lost. */
  renew(grant: Grant, leaseMs: number): Promise<boolean>
  /**
   * Consumes for good what was used of a grant of bytes, `used` in all since its beginning, and holds up to `more` for what
   * comes next. Answers how much that is, 0 when nothing is left; undefined when the lease was lost, and then nothing
   * changed. Saying it again, for an answer that was lost, consumes nothing more.
   */
  advance(grant: Grant, used: bigint, more: bigint): Promise<bigint | undefined>
  /** Ends a grant: `used` since its beginning is consumed, the rest goes back. False when the lease was lost; then nothing changed. */
  end(grant: Grant, consequence: Consequence, used: bigint): Promise<boolean>
  /** Keeps a payment that came too late, for the operator to see and refund. It does not stop a later valid use. */
  recordLate(payment: PaymentRecord): Promise<void>
  close(): Promise<void>
}

/** A payment to a watched address as the chain shows it, whether or not anybody ever brings a proof of it. */
export interface Sighting {
  readonly tx: Uint8Array
  readonly recipient: string
  /** Pseudonym of the requestId in its memo; empty when no memo is one of ours. */
  readonly request: string
  /** Pseudonym of who sent it. */
  readonly payer: string
  readonly token: TokenCode
  readonly received: bigint
  /** 0 for one that a genuine proof named and no node has shown yet. */
  readonly slot: number
  readonly paidAt: number
  /** What it is for, where its memo is one of ours and the service knows. */
  readonly endpoint: string
  /** Until when a proof of it can be accepted; 0 where its memo is none of ours. */
  readonly claimableUntil: number
  /** What its requestId asks for in this token; undefined where it is none of ours, or does not take the token. */
  readonly required: bigint | undefined
  /** Until when it had to be paid; 0 where its memo is none of ours. */
  readonly payableUntil: number
}

/** The last payment up to which an address was read. */
export interface Mark {
  readonly signature: string
  readonly slot: number
}

/** A registered payment that the chain might still take back. */
export interface Unfinal {
  readonly tx: Uint8Array
  readonly slot: number
}

export interface Conclusion {
  readonly tx: Uint8Array
  readonly finality: 'finalized' | 'reverted'
}

/** What somebody would lose, or have got for nothing, if the chain took back all that is not final yet. */
export interface Exposure {
  readonly recipient: string
  readonly payer: string
  readonly token: TokenCode
  readonly units: bigint
}

/** What the service writes down about payments besides their use. Throws `LedgerUnavailable` as the ledger does. */
export interface Journal {
  /** Up to where the payments to an address were read; undefined when it is new. */
  mark(address: string): Promise<Mark | undefined>
  /** Notes payments and how far an address was read, in one step. Answers those that nobody had noted before. */
  sight(
    sightings: readonly Sighting[],
    read?: { readonly address: string; readonly mark: Mark },
  ): Promise<readonly Sighting[]>
  /** Payments seen on chain for which no proof was ever accepted, the latest first. */
  unclaimed(most: number): Promise<readonly Sighting[]>
  /** The oldest first, from a slot on. */
  unfinal(most: number, fromSlot?: number): Promise<readonly Unfinal[]>
  /** Writes down what became of payments. Answers those that were open until now. */
  conclude(conclusions: readonly Conclusion[]): Promise<readonly Conclusion[]>
  exposure(): Promise<readonly Exposure[]>
}

/** The rates that all servers on a ledger have believed, from when on. Entries are kept for `ratesKeptMs`. */
export interface RateJournal {
  /** Writes down what a feed says from now on. Nothing is written where it says the same as before. */
  note(rates: Omit<JournaledRates, 'at'>): Promise<void>
  /**
   * The rates that hold for a payment at a time. These are the ones in force then. Where they lack a rate for one of the
   * tokens, the first ones after that which have it; where there are none, those in force after all.
   *
   * A feed that is newer than the time has none in force at it, because another source was configured then: so the rates of
   * all feeds of the same use (the name up to the slash) are looked through, for some that have all tokens.
   */
  find(query: RateQuery): Promise<JournaledRates | undefined>
}

export interface RateQuery {
  /** `use/name`. */
  readonly feed: string
  /** Milliseconds since 1970. */
  readonly time: number
  readonly tokens: readonly TokenCode[]
}

/** Longer than anybody can wait with the proof of a payment: 40 days. */
export const ratesKeptMs = 40 * 86_400_000

/**
 * What payments add up to. Those that the chain took back, and those that came too late, are not in it. Refunds stand beside
 * them, by the time at which they were final: revenue is worth less what was refunded.
 */
export interface Sum {
  readonly token: TokenCode
  readonly payments: number
  /** In base units of the token. */
  readonly received: bigint
  /** In units of 10⁻¹² of the report token, of those that have a worth. */
  readonly worth: bigint
  /** How many have none. */
  readonly unvalued: number
  /** What was sent back of payments that were counted, in base units of the token. */
  readonly refunded: bigint
  /** In the same units as `worth`, and by the rates of the payments: what went back whole leaves nothing of them. */
  readonly refundedWorth: bigint
}

export interface EndpointSum extends Sum {
  readonly endpoint: string
}

export interface Point extends Sum {
  /** Start of the hour or day (UTC), in milliseconds since 1970. */
  readonly at: number
}

/** From a whole hour (UTC) on, and before another, in milliseconds since 1970. By the time of the block. */
export interface Period {
  readonly from?: number
  readonly to?: number
}

/** What requests came to that are not payments themselves. Counted in memory and written down every second. */
export const usageEvents = ['challenged', 'free', 'refused', 'reused', 'delivered', 'undelivered'] as const
export type UsageEvent = (typeof usageEvents)[number]

export interface Usage {
  /** Start of the hour, in milliseconds since 1970. */
  readonly at: number
  readonly endpoint: string
  readonly event: UsageEvent
  readonly count: number
}

/** SPEC.md's status of captured data. */
export const captureStatuses = ['pending', 'confirmed', 'expired'] as const
export type CaptureStatus = (typeof captureStatuses)[number]

/** A payment as it is listed. */
export interface Capture {
  readonly tx: Uint8Array
  /** Time of its block, in milliseconds since 1970. */
  readonly at: number
  readonly request: string
  /** Pseudonym; empty where it is not known. */
  readonly payer: string
  readonly recipient: string
  readonly endpoint: string
  readonly token: TokenCode
  readonly units: bigint
  readonly worth: bigint | undefined
  readonly status: CaptureStatus
  /** More than the status tells: `late` and `unclaimed` are expired, `reverted` too. */
  readonly state: 'unclaimed' | 'confirmed' | 'finalized' | 'late' | 'reverted'
  /** Whether all that was bought was delivered, or some of it, or nothing. */
  readonly delivery: 'none' | 'some' | 'all'
}

/** A place in the list: captures are ordered by time and transaction. */
export interface CaptureMark {
  readonly at: number
  readonly tx: Uint8Array
}

export interface CaptureQuery {
  readonly from?: number
  readonly to?: number
  readonly endpoint?: string
  readonly token?: TokenCode
  readonly status?: CaptureStatus
  readonly state?: Capture['state']
  /** Pseudonyms, and the transaction itself: exactly. */
  readonly payer?: string
  readonly request?: string
  readonly tx?: Uint8Array
  /** Beyond this one, in the order asked for. */
  readonly after?: CaptureMark
  readonly order: 'latest' | 'oldest'
  readonly most: number
}

/**
 * What somebody paid in a period, and was sent back in it: a line for each token, and the times of the first and the last
 * payment in it.
 */
export interface PayerSum {
  readonly payer: string
  readonly sums: readonly Sum[]
  readonly first: number
  readonly last: number
}

/** A place in a list of payers: by what they paid less what was sent back, or by the last that they paid. */
export type PayerMark = { readonly worth: bigint; readonly payer: string } | CaptureMark

export interface PayerQuery {
  /** Whole days (UTC), in milliseconds since 1970. */
  readonly from: number
  readonly to: number
  readonly order: 'revenue' | 'latest'
  readonly after?: PayerMark
  readonly most: number
}

/** `next` where there may be more: a page is also cut where too many payments would have to be looked at for it. */
export interface PayerPage {
  readonly payers: readonly PayerSum[]
  readonly next?: PayerMark
}

/** What somebody has to look after, each payment by one of them: the first that is true of it. */
export const problemKinds = [
  'reverted',
  'late',
  'undelivered',
  'surplus',
  'unmatched',
  'underpaid',
  'unclaimed',
] as const
export type ProblemKind = (typeof problemKinds)[number]

export interface Problem {
  readonly kind: ProblemKind
  readonly capture: Capture
  /** What was asked for, where that is known. */
  readonly required: bigint | undefined
  /** Until when it can be used, or claimed; 0 where it is for nothing of ours. */
  readonly until: number
}

export interface ProblemQuery {
  readonly kind?: ProblemKind
  /** The latest first, beyond this one. */
  readonly after?: CaptureMark
  readonly most: number
}

/** What became of a payment, and when, in milliseconds since 1970; undefined for what did not happen or is not known. */
export interface History {
  readonly capture: Capture
  readonly required: bigint | undefined
  /** The chain has shown it, and not only a proof named it. */
  readonly isShown: boolean
  /** When the watcher noted it. */
  readonly seenAt: number | undefined
  readonly registeredAt: number | undefined
  /** The ends of the first response that brought something, and of the last. */
  readonly deliveredAt: number | undefined
  readonly deliveredLast: number | undefined
  /** Since when it is known that a response brought nothing, as long as none has. */
  readonly undeliveredAt: number | undefined
  /** When the chain could no longer take it back, or did. */
  readonly concludedAt: number | undefined
  /** Until when it can be claimed, of what was only seen. */
  readonly claimableUntil: number | undefined
  /** Since when it is refunded, or about to be: nothing can be taken of it any more. */
  readonly refundedAt: number | undefined
}

/**
 * What payments add up to. Sums change in the same transaction as the payments they count, so they always agree.
 */
export interface Books {
  /** By token. */
  sums(period: Period): Promise<readonly Sum[]>
  /** By endpoint and token, those with most payments first: all lines of the first `most` endpoints. */
  endpoints(period: Period, most: number): Promise<readonly EndpointSum[]>
  /** By hour or day, and token, oldest first. Empty ones are left out. */
  series(
    query: Required<Period> & { readonly step: 'hour' | 'day'; readonly endpoint?: string },
  ): Promise<readonly Point[]>
  captures(query: CaptureQuery): Promise<readonly Capture[]>
  capture(tx: Uint8Array): Promise<Capture | undefined>
  /** Also of what is in no list, because its memo is none of ours. */
  history(tx: Uint8Array): Promise<History | undefined>
  /**
   * Who paid in a period. By revenue they are ranked among those who paid most on any day of it, about a thousand; by their
   * last payment all are listed.
   */
  payers(query: PayerQuery): Promise<PayerPage>
  problems(query: ProblemQuery): Promise<readonly Problem[]>
  /** Of each kind, `most` at the most. */
  countProblems(most: number): Promise<Readonly<Record<ProblemKind, number>>>
  count(usage: readonly Usage[]): Promise<void>
  /** Summed up by endpoint and event; `at` is 0. */
  usage(period: Period): Promise<readonly Usage[]>
  /** Counts all payments again and compares. */
  audit(): Promise<readonly Discrepancy[]>
  /** Reckons worth and sums anew from the payments, in this token from now on. */
  rebuild(reportToken: TokenCode): Promise<void>
  /** The token in which worth is reckoned; undefined before the first start. */
  reportToken(): Promise<TokenCode | undefined>
}

/** Text under a name, for a while. */
export interface Shelf {
  /** Puts it there if nothing is. False when something is. It can be read before `until`, in milliseconds since 1970. */
  put(name: string, value: string, until: number): Promise<boolean>
  get(name: string): Promise<string | undefined>
  remove(name: string): Promise<boolean>
  /** Those whose names begin so, in the order of their names. */
  list(prefix: string): Promise<readonly { readonly name: string; readonly value: string; readonly until: number }[]>
}

export const noticeKinds = [
  'payment.confirmed',
  'payment.finalized',
  'payment.reverted',
  'payment.expired',
  'payment.undelivered',
  'reward.paid',
  'settlement.converted',
  'refund.sent',
] as const
export type NoticeKind = (typeof noticeKinds)[number]

/** Something about a payment, or about what went out, that somebody outside is to be told: at least once, and possibly more than once. */
export interface Notice {
  readonly id: string
  readonly kind: NoticeKind
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

export interface Listener {
  readonly name: string
  readonly events: readonly NoticeKind[]
}

/**
 * Written in the same transaction as what they tell of, once `start` was called on this ledger by anybody: without a
 * listener nothing is written.
 */
export interface Notices {
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
  spread(listeners: readonly Listener[], most: number): Promise<number>
  /** Those for a listener whose time has come, the oldest first, which nobody else gets for `leaseMs`. */
  take(target: string, most: number, leaseMs: number): Promise<readonly Notice[]>
  told(id: string): Promise<void>
  /** `again` in milliseconds since 1970; undefined gives up. */
  failed(id: string, why: string, again: number | undefined): Promise<void>
  list(query: { readonly state?: Notice['state']; readonly most: number }): Promise<readonly Notice[]>
  /** Makes it due again, as if it had never been tried. False when there is none of that id. */
  resend(id: string): Promise<boolean>
}

/** The store cannot be reached or cannot promise durability at this moment. The outcome of the call is unknown. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable'
}
