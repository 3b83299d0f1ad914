/** Distinguishes people in a browser from programs. */
import type { Incoming } from '../../core/http/http.ts'

export type Asking = Pick<Incoming, 'method' | 'header'>

/** Whether a person requests a page: not a script, and not a browser that prefetches. */
export function isForPeople({ method, header }: Asking): boolean {
  if (method !== 'GET' || !wantsPage(header('accept'))) return false
  const destination = header('sec-fetch-dest')
  if (destination !== undefined && destination !== 'document') return false
  return !/prefetch|prerender/.test(`${header('sec-purpose')} ${header('purpose')}`)
}

/** Whether the client accepts a page, with a preference above zero. */
function wantsPage(accept: string | undefined): boolean {
  if (!accept?.includes('text/html')) return false
  return !/text\/html[^,]*;\s*q=0(?:\.0*)?\s*(?:,|;|$)/.test(accept)
}
