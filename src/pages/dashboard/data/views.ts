/** Views of the payment list that the seller has saved under a name, in this browser. */
import { signal } from '@preact/signals'
import { attempt } from '../../../core/errors/attempt.ts'
import { formatAddress } from './route.ts'
import { keep, recall } from './settings.ts'

export interface SavedView {
  readonly name: string
  /** The filters and the period, as in the address. */
  readonly query: string
}

const mostViews = 20
const longestName = 40
const longestQuery = 2_000

/** The list from the storage. Entries that this page did not write are left out. */
export function parseViews(text: string | null): readonly SavedView[] {
  const list: unknown = text === null ? [] : attempt(() => JSON.parse(text))
  if (!Array.isArray(list)) return []
  const isView = (one: Partial<SavedView> | null): one is SavedView =>
    typeof one?.name === 'string' &&
    typeof one.query === 'string' &&
    one.name !== '' &&
    one.name.length <= longestName &&
    one.query.length <= longestQuery
  return list.filter(isView).slice(0, mostViews)
}

/** A view with the same name is replaced. The oldest goes if there are too many. */
export function addView(views: readonly SavedView[], view: SavedView): readonly SavedView[] {
  const name = view.name.trim().slice(0, longestName)
  if (name === '' || view.query.length > longestQuery) return views
  return [...views.filter((one) => one.name !== name), { name, query: view.query }].slice(-mostViews)
}

/** The part of the address that a view keeps: everything but an open panel. */
export function readViewQuery(query: URLSearchParams): string {
  return new URLSearchParams([...query].filter(([name]) => name !== 'payment')).toString()
}

/** The address of a view. The current period does not apply to it. */
export function formatViewAddress({ query }: SavedView): string {
  const none = { period: undefined, from: undefined, to: undefined }
  return formatAddress('payments', { ...none, ...Object.fromEntries(new URLSearchParams(query)) })
}

export const views = signal<readonly SavedView[]>(parseViews(recall('views')))

export function setViews(list: readonly SavedView[]): void {
  views.value = list
  keep('views', JSON.stringify(list))
}
