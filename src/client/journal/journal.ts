/**
 * The client's memory of what it has promised and paid, written before anything is sent. It is what keeps a crash, a
 * time-out or a second process from paying twice, and budgets from being exceeded by parallel calls.
 */
import type { Network, TokenCode } from '../../core/money/tokens.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import type { ProofKind } from '../../core/protocol/request-id.ts'

/**
 * reserved: counted against the budget, nothing signed. signed: may be on its way. landed: on chain, resource not
 * received yet, or something left of it. done: received, or used up. dead: can no longer land, and never counted again.
 */
export type IntentState = 'reserved' | 'signed' | 'landed' | 'done' | 'dead'

export interface Intent {
  readonly requestId: string
  /** Names the request (method, address, body) and the wallet: equal keys are the same purchase. */
  readonly key: string
  /** Where the proof goes: the address that asked for money, after redirects. */
  readonly url: string
  readonly host: string
  /** UTC day on which it counts: 2026-01-31. */
  readonly day: string
  readonly network: Network
  /** The chain it was signed for: on another, its absence means nothing. */
  readonly genesis: string
  readonly token: TokenCode
  readonly units: bigint
  readonly payer: string
  readonly proof: ProofKind
  /** The secret behind the requestId, where there is one. */
  readonly claim?: string
  readonly state: IntentState
  readonly tx?: string
  /** The signed transaction, to be sent again as it is. */
  readonly wire?: string
  /** A slot at which a node knew the block that it is built on. */
  readonly slot?: number
  /** What it is counted in; unknown for what was bought before this was written down. */
  readonly unit?: Unit
  /** Names what it is for, where that is more than one request: origin, scope, wallet and chain. All such requests share it. */
  readonly scope?: string
  /** What is left of it, as far as it was told. */
  readonly remaining?: number
  /** When it ends, by our clock, in milliseconds since 1970. */
  readonly until?: number
}

export type IntentChange = Partial<Pick<Intent, 'state' | 'tx' | 'wire' | 'slot' | 'remaining' | 'until'>>

/** What is left of a shared purchase. */
export type Left = Pick<IntentChange, 'remaining' | 'until'>

/** In base units of the intent's token. */
export interface Limits {
  readonly perDay?: bigint
  readonly perHost?: bigint
}

export type Reservation =
  | { readonly kind: 'reserved' }
  /** A requestId is for one payment: a server that repeats one would have it counted once and paid twice. */
  | { readonly kind: 'repeated' }
  | { readonly kind: 'exceeded'; readonly limit: 'perDay' | 'perHost'; readonly spent: bigint }

/** What there is for a request of a scope. */
export type Share =
  /** It is paid for: use it, beside others. */
  | { readonly kind: 'landed'; readonly intent: Intent }
  /** Somebody who lives is buying it. */
  | { readonly kind: 'busy' }
  /** It was signed, and nobody follows it up any more. The turn is the caller's, until `passTurn`. */
  | { readonly kind: 'unfinished'; readonly intent: Intent }
  /** Nobody has bought it. The turn is the caller's, until `passTurn`. */
  | { readonly kind: 'turn' }

export interface Journal {
  /** Checks the budgets and writes the intent down in one step. The caller holds it until `release`. */
  reserve(intent: Intent, limits: Limits): Promise<Reservation>
  change(requestId: string, change: IntentChange): Promise<void>
  /** Takes over an unfinished purchase of the same thing that nobody who lives is working on. Never a shared one. */
  adopt(key: string): Promise<Intent | undefined>
  /** Lets go, so that a later call may adopt what is unfinished. */
  release(requestId: string): Promise<void>
  /**
   * A shared purchase that landed, and is not known to be used up or over, the oldest first. None while somebody has the
   * turn: who buys is the first to use it.
   */
  find(scope: string, now: number): Promise<Intent | undefined>
  /** The same, or who is to buy it: of all calls of all processes, one at a time has the turn. */
  share(scope: string, now: number): Promise<Share>
  passTurn(scope: string): Promise<void>
  /** A request goes out on a shared purchase. Until its `end` nobody knows for sure what is left. */
  begin(requestId: string): Promise<void>
  /** Its answer came, was counted, and said what is left. Answers that were given back never come to this. */
  end(requestId: string, left: Left): Promise<void>
}

/** For browsers and tests: kept as long as the process. */
export function createMemoryJournal(): Journal {
  const intents = new Map<string, Intent>()
  const held = new Set<string>()
  const turns = new Set<string>()
  const underWay = new Map<string, number>()
  const change = (requestId: string, more: IntentChange): void => {
    const intent = intents.get(requestId)
    if (intent) intents.set(requestId, { ...intent, ...more })
  }
  const count = (requestId: string, by: 1 | -1): void => {
    if (intents.has(requestId)) underWay.set(requestId, (underWay.get(requestId) ?? 0) + by)
  }
  const find = (scope: string, now: number): Intent | undefined =>
    [...intents.values()].find(
      (intent) => intent.scope === scope && isUsable(intent, underWay.get(intent.requestId) ?? 0, now),
    )
  return {
    reserve: async (intent, limits) => {
      if (intents.has(intent.requestId)) return { kind: 'repeated' }
      const counted = [...intents.values()].filter((other) => isCounted(other, intent))
      const exceeded = findExceeded(counted, intent, limits)
      if (exceeded) return exceeded
      intents.set(intent.requestId, intent)
      held.add(intent.requestId)
      return { kind: 'reserved' }
    },
    change: async (requestId, more) => change(requestId, more),
    adopt: async (key) => {
      const found = [...intents.values()].find((intent) => isOpen(intent, key) && !held.has(intent.requestId))
      if (found) held.add(found.requestId)
      return found
    },
    release: async (requestId) => {
      held.delete(requestId)
    },
    find: async (scope, now) => (turns.has(scope) ? undefined : find(scope, now)),
    share: async (scope, now) => {
      if (turns.has(scope)) return { kind: 'busy' }
      const landed = find(scope, now)
      if (landed) return { kind: 'landed', intent: landed }
      turns.add(scope)
      const signed = [...intents.values()].find((intent) => intent.scope === scope && intent.state === 'signed')
      return signed ? { kind: 'unfinished', intent: signed } : { kind: 'turn' }
    },
    passTurn: async (scope) => {
      turns.delete(scope)
    },
    begin: async (requestId) => count(requestId, 1),
    end: async (requestId, left) => {
      count(requestId, -1)
      change(requestId, left)
    },
  }
}

function isOpen(intent: Intent, key: string): boolean {
  const isUnfinished = intent.state === 'signed' || intent.state === 'landed'
  return intent.key === key && intent.scope === undefined && isUnfinished
}

/** Nothing left counts only where nothing is under way: what breaks off is given back. */
export function isUsable({ state, remaining, until }: Intent, underWay: number, now: number): boolean {
  const isUsedUp = remaining === 0 && underWay === 0
  return state === 'landed' && !isUsedUp && (until === undefined || now < until)
}

function isCounted(other: Intent, intent: Intent): boolean {
  const same = other.token === intent.token && other.network === intent.network && other.day === intent.day
  return same && other.state !== 'dead'
}

/** Whether this much more would break a budget; `counted` is what counts already for the same token and day. */
export function findExceeded(
  counted: readonly Pick<Intent, 'units' | 'host'>[],
  intent: Pick<Intent, 'units' | 'host'>,
  limits: Limits,
): Reservation | undefined {
  const sum = (of: typeof counted) => of.reduce((total, one) => total + one.units, 0n)
  const spent = { perDay: sum(counted), perHost: sum(counted.filter((one) => one.host === intent.host)) }
  for (const limit of ['perDay', 'perHost'] as const) {
    const most = limits[limit]
    if (most !== undefined && spent[limit] + intent.units > most)
      return { kind: 'exceeded', limit, spent: spent[limit] }
  }
  return undefined
}
