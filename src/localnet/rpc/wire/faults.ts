/**
 * Injected faults: all failures and lies of nodes and networks that a client must survive.
 *
 * A rule applies to some or all methods, and a number of times or always. Rules are checked in order, and each one that
 * matches adds its part.
 */
export interface FaultRule {
  /** The methods to which it applies; all if omitted. The path `/faucet` counts as a method. */
  readonly methods?: readonly string[]
  /** The number of requests to which it applies; unlimited if omitted. */
  readonly times?: number
  readonly latencyMs?: number
  /** Responds with this HTTP status. */
  readonly status?: number
  /** Sent along with `status`. */
  readonly retryAfterSeconds?: number
  /** Resets the connection without a response. */
  readonly drop?: boolean
  /** Corrupts the response: truncated, a proxy's HTML page, empty, or with another id. */
  readonly body?: 'truncated' | 'html' | 'empty' | 'wrong-id'
  /** Responds with this JSON-RPC error and HTTP status 200. */
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
  /** Responds like a node that is this many slots behind (at most 250). */
  readonly lagSlots?: number
  /** The number of slots that a sent transaction waits before it runs. */
  readonly delaySlots?: number
  /** A sent transaction is accepted and then lost. */
  readonly lose?: boolean
}

/** Changes an outgoing response. Returns the response itself or another one. */
export type Intercept = (method: string, params: unknown, answer: RpcAnswer) => RpcAnswer | Promise<RpcAnswer>

export type RpcAnswer = Readonly<{ result: unknown }> | Readonly<{ error: Readonly<Record<string, unknown>> }>

export interface Faults {
  /** Adds a rule. The returned function removes it. */
  add(rule: FaultRule): () => void
  /** Replaces all rules. */
  set(rules: readonly FaultRule[]): void
  /** Changes responses on their way out. Undefined stops it. */
  intercept(intercept: Intercept | undefined): void
  /** WebSockets stay open but send nothing: no notifications, no pongs. */
  silence(silent: boolean): void
  /** Closes all WebSockets, like a node that restarts. */
  dropSockets(): void
  /** Removes all faults. */
  clear(): void
}

interface Active {
  readonly rule: FaultRule
  left: number
}

export function createFaults() {
  let active: Active[] = []
  let lie: Intercept | undefined
  let silent = false
  let drop = () => {}

  function activate(rule: FaultRule): Active {
    return { rule, left: rule.times ?? Number.POSITIVE_INFINITY }
  }

  const faults: Faults = {
    add(rule) {
      const added = activate(rule)
      active.push(added)
      return () => {
        active = active.filter((one) => one !== added)
      }
    },
    set(rules) {
      active = rules.map(activate)
    },
    intercept(intercept) {
      lie = intercept
    },
    silence(value) {
      silent = value
    },
    dropSockets: () => drop(),
    clear() {
      active = []
      lie = undefined
      silent = false
    },
  }

  return {
    faults,
    /** The matching rules. Each match counts as one use. */
    take(method: string) {
      // The methods that end faults are exempt, unless a rule names them.
      const exempt = method.startsWith('paystile_')
      let taken: FaultRule = {}
      for (const one of active) {
        if (one.rule.methods ? !one.rule.methods.includes(method) : exempt) continue
        one.left -= 1
        taken = { ...taken, ...one.rule }
      }
      active = active.filter(({ left }) => left > 0)
      return taken
    },
    intercept: () => lie,
    silent: () => silent,
    onDropSockets(callback: () => void) {
      drop = callback
    },
  }
}

export type FaultState = ReturnType<typeof createFaults>
