/**
 * Faults on purpose: everything a node, a network or a liar can do to a reader of the chain.
 *
 * A rule applies to some methods or to all, some times or always. Rules are looked at in order, and each one that
 * fits adds its part.
 */
export interface FaultRule {
  /** The methods it applies to; all when left out. The path `/faucet` counts as a method. */
  readonly methods?: readonly string[]
  /** How many requests it spoils before it is used up; no end when left out. */
  readonly times?: number
  readonly latencyMs?: number
  /** Answers with this HTTP status instead. */
  readonly status?: number
  /** Sent along with `status`. */
  readonly retryAfterSeconds?: number
  /** Resets the connection without an answer. */
  readonly drop?: boolean
  /** Spoils the answer's text: cut in the middle, a proxy's HTML page, nothing at all, or under another id. */
  readonly body?: 'truncated' | 'html' | 'empty' | 'wrong-id'
  /** Answers with this JSON-RPC error, under HTTP status 200. */
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
  /** Answers as a node that is this many slots behind (250 at most). */
  readonly lagSlots?: number
  /** Slots a sent transaction waits before it runs. */
  readonly delaySlots?: number
  /** A sent transaction is accepted and never seen again. */
  readonly lose?: boolean
}

/** Changes an answer on its way out. Return the answer itself, or another one. */
export type Intercept = (method: string, params: unknown, answer: RpcAnswer) => RpcAnswer | Promise<RpcAnswer>

export type RpcAnswer = Readonly<{ result: unknown }> | Readonly<{ error: Readonly<Record<string, unknown>> }>

export interface Faults {
  /** Adds a rule; the function returned takes it away. */
  add(rule: FaultRule): () => void
  /** Replaces all rules. */
  set(rules: readonly FaultRule[]): void
  /** Lies: undefined ends them. */
  intercept(intercept: Intercept | undefined): void
  /** WebSockets stay open and say nothing: no notification, no answer to a ping. */
  silence(silent: boolean): void
  /** Ends all WebSockets, as a node that restarts. */
  dropSockets(): void
  /** Everything back to normal. */
  clear(): void
}

export interface FaultState {
  readonly faults: Faults
  /** The rules that fit, which counts as one use of each. */
  take(method: string): FaultRule
  intercept(): Intercept | undefined
  silent(): boolean
  onDropSockets(drop: () => void): void
}

interface Active {
  readonly rule: FaultRule
  left: number
}

export function createFaults(): FaultState {
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
    take(method) {
      // The methods that end faults must get through, unless a rule names them.
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
    onDropSockets(callback) {
      drop = callback
    },
  }
}
