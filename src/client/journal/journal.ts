/**
 * The client's record of its commitments and payments, written before anything is sent. It prevents double payments
 * after a crash, a timeout or in a second process, and keeps parallel calls within the budgets.
 */
import type { Network, TokenCode } from '../../core/money/tokens.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import type { ForeignProtocol } from '../../core/protocol/protocols.ts'
import type { ProofKind } from '../../core/protocol/request-id.ts'

/**
 * reserved: counted against the budget, nothing signed. signed: may be on its way. landed: on chain, and the resource
 * is not received yet or some of the allowance is left. done: received, or used up. dead: can no longer land, and is
 * not counted any more.
 */
export type IntentState = 'reserved' | 'signed' | 'landed' | 'done' | 'dead'

export interface Intent {
  readonly requestId: string
  /** Identifies the request (method, address, body) and the wallet. Equal keys are the same purchase. */
  readonly key: string
  /** The address for the proof: the one that sent the challenge, after redirects. */
  readonly url: string
  readonly host: string
  /** The UTC day for the budget: 2026-01-31. */
  readonly day: string
  readonly network: Network
  /** The chain for which it was signed. Its absence on another chain has no meaning. */
  readonly genesis: string
  readonly token: TokenCode
  readonly units: bigint
  readonly payer: string
  readonly proof: ProofKind
  /** The claim secret behind the requestId, if there is one. */
  readonly claim?: string
  readonly state: IntentState
  readonly tx?: string
  /** The signed transaction, to send again unchanged. */
  readonly wire?: string
  /** A slot at which a node knew its blockhash. */
  readonly slot?: number
  /** The protocol, if it is not that of paystile. The server then sends the transaction, and `tx` is its report. */
  readonly protocol?: ForeignProtocol
  /** The header that submits the transaction, as `name: value`. It is sent again unchanged. */
  readonly credential?: string
  /** The text of its memo, if it has one and another protocol wrote it. */
  readonly memo?: string
  /** The unit of the allowance. Unknown for purchases before this field existed. */
  readonly unit?: Unit
  /**
   * Identifies the scope of an allowance for more than one request: origin, scope, wallet and chain. All such requests
   * share it.
   */
  readonly scope?: string
  /** The rest of the allowance, as last reported. */
  readonly remaining?: number
  /**
   * The end of the allowance by the server's clock, in milliseconds since 1970. The local clock can be wrong now, and
   * right later.
   */
  readonly until?: number
}

export type IntentChange = Partial<
  Pick<Intent, 'state' | 'tx' | 'wire' | 'slot' | 'credential' | 'remaining' | 'until'>
>

/** The rest of a shared purchase. */
export type Left = Pick<IntentChange, 'remaining' | 'until'>

/** In base units of the intent's token. */
export interface Limits {
  readonly perDay?: bigint
  readonly perHost?: bigint
}

export type Reservation =
  | { readonly kind: 'reserved' }
  /** A requestId is for one payment. If a server repeated one, it would be counted once and paid twice. */
  | { readonly kind: 'repeated' }
  | { readonly kind: 'exceeded'; readonly limit: 'perDay' | 'perHost'; readonly spent: bigint }

/** The available purchase for a request in a scope. */
export type Share =
  /** It is paid, and callers can use it concurrently. */
  | { readonly kind: 'landed'; readonly intent: Intent }
  /** Another live caller is buying it. */
  | { readonly kind: 'busy' }
  /** It was signed, and no live caller follows it. The caller has the turn until `passTurn`. */
  | { readonly kind: 'unfinished'; readonly intent: Intent }
  /** There is no purchase yet. The caller has the turn until `passTurn`. */
  | { readonly kind: 'turn' }

export interface Journal {
  /** Checks the budgets and records the intent in one step. The caller holds it until `release`. */
  reserve(intent: Intent, limits: Limits): Promise<Reservation>
  change(requestId: string, change: IntentChange): Promise<void>
  /** Takes over an unfinished purchase of the same request that no live process holds. Never a shared one. */
  adopt(key: string): Promise<Intent | undefined>
  /** Releases the intent, so that a later call can adopt it if it is unfinished. */
  release(requestId: string): Promise<void>
  /**
   * A landed shared purchase that is not known to be used up or expired, the oldest first. None while another caller
   * has the turn, because the buyer uses it first. `now` is the time of the server.
   */
  find(scope: string, now: number): Promise<Intent | undefined>
  /** Like `find`, or assigns the turn to buy. One call at a time, over all processes, has the turn. */
  share(scope: string, now: number): Promise<Share>
  passTurn(scope: string): Promise<void>
  /** A request is sent on a shared purchase. The rest is uncertain until its `end`. */
  begin(requestId: string): Promise<void>
  /** Its response was counted and reported the rest. Responses that returned their use never get here. */
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

/** An empty rest counts only if no request is under way, because an interrupted one returns its use. */
export function isUsable({ state, remaining, until }: Intent, underWay: number, now: number): boolean {
  const isUsedUp = remaining === 0 && underWay === 0
  return state === 'landed' && !isUsedUp && (until === undefined || now < until)
}

function isCounted(other: Intent, intent: Intent): boolean {
  const same = other.token === intent.token && other.network === intent.network && other.day === intent.day
  return same && other.state !== 'dead'
}

/** Whether this amount would exceed a budget. `counted` is the amount already counted for the same token and day. */
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
