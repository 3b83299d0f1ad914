/**
 * The client's memory of what it has promised and paid, written before anything is sent. It is what keeps a crash, a
 * time-out or a second process from paying twice, and budgets from being exceeded by parallel calls.
 */
import type { Network, TokenCode } from '../core/network.ts'
import type { ProofKind } from '../core/request-id.ts'

/**
 * reserved: counted against the budget, nothing signed. signed: may be on its way. landed: on chain, resource not
 * received yet. done: received, or used up. dead: can no longer land, and never counted again.
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
  readonly lastValidBlockHeight?: number
}

export type IntentChange = Partial<Pick<Intent, 'state' | 'tx' | 'wire' | 'lastValidBlockHeight'>>

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

export interface Journal {
  /** Checks the budgets and writes the intent down in one step. The caller holds it until `release`. */
  reserve(intent: Intent, limits: Limits): Promise<Reservation>
  change(requestId: string, change: IntentChange): Promise<void>
  /** Takes over an unfinished purchase of the same thing that nobody who lives is working on. */
  adopt(key: string): Promise<Intent | undefined>
  /** Lets go, so that a later call may adopt what is unfinished. */
  release(requestId: string): Promise<void>
}

/** For browsers and tests: kept as long as the process. */
export function createMemoryJournal(): Journal {
  const intents = new Map<string, Intent>()
  const held = new Set<string>()
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
    change: async (requestId, change) => {
      const intent = intents.get(requestId)
      if (intent) intents.set(requestId, { ...intent, ...change })
    },
    adopt: async (key) => {
      const found = [...intents.values()].find((intent) => isOpen(intent, key) && !held.has(intent.requestId))
      if (found) held.add(found.requestId)
      return found
    },
    release: async (requestId) => {
      held.delete(requestId)
    },
  }
}

function isOpen(intent: Intent, key: string): boolean {
  return intent.key === key && (intent.state === 'signed' || intent.state === 'landed')
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
