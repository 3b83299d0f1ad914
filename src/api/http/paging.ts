/** One page of a list. The query asked for one row more than the page holds. */

export interface PageOfRows<Item> {
  readonly shown: readonly Item[]
  /** The next page begins after this item; undefined on the last page. */
  readonly last: Item | undefined
}

export function cutPage<Item>(found: readonly Item[], limit: number): PageOfRows<Item> {
  const shown = found.slice(0, limit)
  return { shown, last: found.length > limit ? shown.at(-1) : undefined }
}
