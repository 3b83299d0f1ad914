/** Requests to the service. Every result is one of a few outcomes that a screen can show. */
import { signal } from '@preact/signals'
import { takeTime } from '../../look/clock.ts'
import { catchUp } from './settings.ts'

export type Trouble =
  /** Sign-in is required. */
  | { readonly kind: 'signed-out' }
  | { readonly kind: 'not-owner' }
  /** The service does not have this path: it is older than the page, or the record does not exist. */
  | { readonly kind: 'missing'; readonly detail: string }
  /** The service rejects the query. */
  | { readonly kind: 'unread'; readonly detail: string }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'failed'; readonly status: number; readonly code: string; readonly detail: string }

export type Outcome<Answer> = { readonly kind: 'answer'; readonly value: Answer } | Trouble

/** The service did not answer the last request. */
export const isGone = signal(false)

const patienceMs = 20_000

export async function ask<Answer>(path: string, init: RequestInit = {}): Promise<Outcome<Answer>> {
  const patience = AbortSignal.timeout(patienceMs)
  const signal = init.signal ? AbortSignal.any([init.signal, patience]) : patience
  let response: Response
  let body: unknown
  try {
    response = await fetch(path, { ...init, signal, credentials: 'same-origin', cache: 'no-store' })
    isGone.value = false
    takeTime(response.headers.get('date'))
    catchUp()
    body = await response.json()
  } catch {
    // A request that another one replaced says nothing about the service.
    if (!init.signal?.aborted) isGone.value = true
    return { kind: 'unreachable' }
  }
  if (response.ok) return { kind: 'answer', value: body as Answer }
  const { code = '', detail = 'The service gave no reason.' } = (body ?? {}) as { code?: string; detail?: string }
  if (response.status === 401 && code === 'sign_in_required') return { kind: 'signed-out' }
  if (code === 'not_owner') return { kind: 'not-owner' }
  if (response.status === 400) return { kind: 'unread', detail }
  if (response.status === 404 || response.status === 405) return { kind: 'missing', detail }
  return { kind: 'failed', status: response.status, code, detail }
}

export function post<Answer>(path: string, body: unknown = {}): Promise<Outcome<Answer>> {
  return ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
}

/** A path with the known parameters of its query. */
export function formatPath(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}
