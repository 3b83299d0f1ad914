/** The states of a screen without data: loading, empty, failed, or not supported by the service. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { type Loaded, useAnswer } from '../data/answer.ts'
import type { Analytics } from '../data/answers.ts'
import { formatPath, type Trouble } from '../data/ask.ts'
import { formatAddress, place } from '../data/route.ts'
import { readService } from '../data/session.ts'
import { waitTurn } from '../data/turns.ts'
import { Command } from './copy.tsx'
import { Link } from './link.tsx'

export function Skeleton({ lines = 5 }: { readonly lines?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading…</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} class="bone" />
      ))}
    </div>
  )
}

export function Notice({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="notice">
      <h2>{title}</h2>
      <div class="notice-text">{children}</div>
    </div>
  )
}

/** The path of something for sale. Undefined if no path is published. */
export function findFirstPath(): string | undefined {
  const offer = readService()?.endpoints.find(({ path }) => path !== null)
  return offer?.path?.replace(/^[A-Z]+ /, '').replace(/\*+$/, '')
}

/** The command that makes the first payment. */
export function firstCommand(): string {
  return `npx paystile pay ${location.origin}${findFirstPath() ?? '/<resource>'}`
}

/** `title` is the heading for an empty period. Without it, the service has no payments at all. */
export function NoPayments({ title }: { readonly title?: string }) {
  return (
    <Notice title={title ?? 'No payments yet'}>
      <p>
        Make {title === undefined ? 'the first' : 'a'} payment from a terminal. It appears here within a second.
        {title !== undefined && ' Or choose a longer period.'}
      </p>
      <Command text={firstCommand()} />
      {title === undefined && place.value.screen !== 'home' && (
        <Link href={formatAddress('home')}>All first steps</Link>
      )}
    </Notice>
  )
}

/** An empty period. A service without any payment has no better one. */
export function NoneInPeriod({ title }: { readonly title: string }) {
  const { value, trouble } = useAnswer<Analytics>(formatPath('/analytics', { view: 'names', limit: 1 }))
  if (value === undefined && trouble === undefined) return <Skeleton />
  return value?.names?.endpoints.length === 0 ? <NoPayments /> : <NoPayments title={title} />
}

export function TroubleNotice({ trouble, reload }: { readonly trouble: Trouble; readonly reload: () => void }) {
  if (trouble.kind === 'missing')
    return (
      <Notice title="Not available on this service yet">
        <p>The service does not support this query. Update paystile on its server and restart it.</p>
        <p class="muted">{trouble.detail}</p>
      </Notice>
    )
  if (trouble.kind === 'unread')
    return (
      <Notice title="The service rejected this query">
        <p>{trouble.detail}</p>
        <p>Change the period or the filters. If that does not help, update paystile on its server.</p>
      </Notice>
    )
  const isGone = trouble.kind === 'unreachable'
  return (
    <Notice title={isGone ? 'The service does not respond' : 'The service returned an error'}>
      <p>
        {isGone
          ? 'Check that the service is running and that you are online. This page retries automatically.'
          : trouble.kind === 'failed'
            ? trouble.detail
            : 'Sign in to see this.'}
      </p>
      <button type="button" class="button" onClick={reload}>
        Try again
      </button>
    </Notice>
  )
}

interface InTurnProps {
  /** The data is there already: the reader returns. */
  readonly isAtOnce: boolean
  readonly children: ComponentChildren
}

/** Renders its content in a task of its own, after the parts before it. */
export function InTurn({ isAtOnce, children }: InTurnProps) {
  const [hasTurn, setTurn] = useState(isAtOnce)
  useLayoutEffect(() => (hasTurn ? undefined : waitTurn(() => setTurn(true))), [hasTurn])
  return <>{hasTurn && children}</>
}

interface WhenProps<Answer> {
  readonly loaded: Loaded<Answer>
  readonly lines?: number
  /** Another part of the screen reports the trouble with the same data. */
  readonly isQuiet?: boolean
  readonly children: (value: Answer) => ComponentChildren
}

/**
 * Shows the data when loaded, each part of a screen in its turn. Data that is there already is shown at once. Old data is
 * dimmed while new data loads, and grey if that fails.
 */
export function When<Answer>({ loaded, lines = 5, isQuiet = false, children }: WhenProps<Answer>) {
  const { value, trouble, isStale, reload } = loaded
  const isLoaded = value !== undefined
  const [hasTurn, setTurn] = useState(isLoaded)
  useEffect(() => {
    if (isLoaded && !hasTurn) return waitTurn(() => setTurn(true))
  }, [isLoaded, hasTurn])
  if (trouble && (value === undefined || trouble.kind === 'missing' || trouble.kind === 'unread'))
    return isQuiet ? <Notice title="No data" /> : <TroubleNotice trouble={trouble} reload={reload} />
  if (value === undefined || !hasTurn) return <Skeleton lines={lines} />
  return (
    <div class={isStale ? (trouble ? 'is-stale' : 'is-loading') : undefined} aria-busy={isStale}>
      {trouble && !isQuiet && (
        <p class="stale" role="alert">
          {isStale
            ? 'The service did not answer, so your choice is not applied: this is the previous selection.'
            : 'The connection is lost, so these figures may be outdated.'}{' '}
          Retrying.{' '}
          <button type="button" class="link-button" onClick={reload}>
            Try again now
          </button>
        </p>
      )}
      {children(value)}
    </div>
  )
}
