/**
 * What a screen shows of an address: the latest answer, and whether a newer one is under way. Answers are kept for a
 * while, so that going back shows them at once; a change of the question ends the one that runs.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { setNewest } from '../../../core/encoding/bounded-map.ts'
import { ask, type Outcome, type Trouble } from './ask.ts'
import { access, noteAccess, turn } from './session.ts'

export interface Loaded<Answer> {
  /** May be that of the question before, while the next is asked: see `isStale`. */
  readonly value: Answer | undefined
  readonly trouble: Trouble | undefined
  readonly isLoading: boolean
  /** The answer shown is one to another question. */
  readonly isStale: boolean
  reload(): void
}

/** Rises when payments came in: sums are then asked for again. */
export const news = signal(0)
/** Rises when the stream may have left something out: lists that it fills are then asked for again. */
export const gaps = signal(0)

const kept = new Map<string, unknown>()
const mostKept = 40

export function forgetAnswers(): void {
  kept.clear()
}

type Asking = (path: string, signal: AbortSignal) => Promise<Outcome<unknown>>
const plainly: Asking = (path, abort) => ask(path, { signal: abort })

interface Way {
  /** Asks again whenever it rises. */
  readonly follows?: ReadonlySignal<number> | undefined
  readonly asking?: Asking
}

/** `path` undefined asks nothing. */
export function useAnswer<Answer>(path: string | undefined, { follows, asking = plainly }: Way = {}): Loaded<Answer> {
  const [state, setState] = useState<{ path: string | undefined; trouble?: Trouble; isLoading: boolean }>({
    path,
    isLoading: path !== undefined,
  })
  const [again, setAgain] = useState(0)
  const last = useRef<unknown>(undefined)
  const liveTurn = follows?.value
  const ownTurn = turn.value
  // The turns are what makes it ask again.
  useEffect(() => {
    if (path === undefined) return setState({ path, isLoading: false })
    const abort = new AbortController()
    setState((before) => ({
      ...(before.path === path && before.trouble && { trouble: before.trouble }),
      path,
      isLoading: true,
    }))
    asking(path, abort.signal)
      .then((outcome) => {
        if (abort.signal.aborted) return
        noteAccess(outcome)
        if (outcome.kind === 'answer') {
          setNewest(kept, path, outcome.value, mostKept)
          setState({ path, isLoading: false })
        } else setState({ path, trouble: outcome, isLoading: false })
      })
      .catch(() => setState({ path, trouble: { kind: 'unreachable' }, isLoading: false }))
    return () => abort.abort()
  }, [path, again, liveTurn, ownTurn])
  const own = path === undefined ? undefined : kept.get(path)
  if (own !== undefined) last.current = own
  if (path === undefined || access.value === 'signed-out') last.current = undefined
  return {
    value: (own ?? last.current) as Answer | undefined,
    trouble: state.path === path ? state.trouble : undefined,
    isLoading: state.isLoading || state.path !== path,
    isStale: own === undefined && last.current !== undefined,
    reload: () => setAgain((count) => count + 1),
  }
}
