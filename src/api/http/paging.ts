/** One page of a list of which one more than the page holds was asked for. */

export interface PageOfRows<Item> {
  readonly shown: readonly Item[]
  /** Where the next page begins after; undefined where there is none. */
  readonly last: Item | undefined
}

export function cutPage<Item>(found: readonly Item[], limit: number): PageOfRows<Item> {
  const shown = found.slice(0, limit)
  return { shown, last: found.length > limit ? shown.at(-1) : undefined }
}
