/**
 * The data of a screen: the latest response to a path, and whether a newer one is loading. Responses are cached for a
 * while, so going back shows them at once. A change of the path cancels the running request.
 */
import { effect, type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { setNewest } from '../../../core/collections/bounded-map.ts'
import { ask, type Outcome, type Trouble } from './ask.ts'
import { access, noteAccess, turn } from './session.ts'

export interface Loaded<Answer> {
  /** Can belong to the previous path while the next one loads: see `isStale`. */
  readonly value: Answer | undefined
  readonly trouble: Trouble | undefined
  readonly isLoading: boolean
  /** The value belongs to another path. */
  readonly isStale: boolean
  reload(): void
}

/** Increases when payments arrive. Sums are then loaded again. */
export const news = signal(0)
/** The pointer is over a table. */
export const isOverTable = signal(false)
/** Like `news`, for lists: waits until the pointer has left the table, so that no row moves under it. */
export const calmNews = signal(0)
effect(() => {
  if (!isOverTable.value) calmNews.value = news.value
})

/** Increases when the reader has changed a payment. Every page of a list is then loaded again, wherever the pointer is. */
export const changes = signal(0)
export function noteChange(): void {
  news.value += 1
  calmNews.value = news.value
  changes.value += 1
}

const kept = new Map<string, unknown>()
const mostKept = 40
/** Delay of the next attempt if the service does not respond. */
const retryMs = 3_000

export function forgetAnswers(): void {
  kept.clear()
}

type Asking = (path: string, signal: AbortSignal) => Promise<Outcome<unknown>>
const plainly: Asking = (path, abort) => ask(path, { signal: abort })

interface Way {
  /** Loads again whenever it increases. */
  readonly follows?: ReadonlySignal<number> | undefined
  readonly asking?: Asking
}

/**
 * Data that came with the data of the screen, or else loads from its own path: the further pages of a list, and all
 * pages of an older service.
 */
export function useGiven<Answer>(given: Answer | undefined, path: string | undefined, way: Way): Loaded<Answer> {
  const loaded = useAnswer<Answer>(given === undefined ? path : undefined, way)
  return given === undefined
    ? loaded
    : { ...loaded, value: given, trouble: undefined, isLoading: false, isStale: false }
}

/** An undefined `path` loads nothing. */
export function useAnswer<Answer>(path: string | undefined, { follows, asking = plainly }: Way = {}): Loaded<Answer> {
  const [state, setState] = useState<{ path: string | undefined; trouble?: Trouble; isLoading: boolean }>({
    path,
    isLoading: path !== undefined,
  })
  const [again, setAgain] = useState(0)
  const last = useRef<unknown>(undefined)
  const liveTurn = follows?.value
  const ownTurn = turn.value
  // The turns trigger the reload.
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
  const isLost = state.trouble?.kind === 'unreachable' && !state.isLoading
  useEffect(() => {
    if (!isLost) return
    const timer = setTimeout(() => setAgain((count) => count + 1), retryMs)
    return () => clearTimeout(timer)
  }, [isLost])
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
