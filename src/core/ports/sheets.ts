/** A range of cells in somebody's online spreadsheet, as the exports need it. */
export interface SheetsPort {
  /** Empties the range. */
  clear(): Promise<SheetsOutcome>
  /** Adds rows after the last one, all cells as text: none is ever taken for a formula, a number or a date. */
  append(rows: readonly (readonly string[])[]): Promise<SheetsOutcome>
}

export type SheetsOutcome =
  | { readonly kind: 'done' }
  /** In one sentence that may be shown: without keys, and without what the service answered word by word. */
  | { readonly kind: 'failed'; readonly why: string }

/** Posts to an HTTP service. Follows no redirect, has its answer by `timeoutMs` or throws. */
export type Post = (
  url: string,
  options: {
    readonly timeoutMs: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  },
) => Promise<{ readonly status: number; readonly text: string }>
