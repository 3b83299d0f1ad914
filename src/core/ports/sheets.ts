/** A range of cells in an online spreadsheet, as the exports need it. */
export interface SheetsPort {
  clear(): Promise<SheetsOutcome>
  /** Appends rows after the last one. All cells are text, never formulas, numbers or dates. */
  append(rows: readonly (readonly string[])[]): Promise<SheetsOutcome>
}

export type SheetsOutcome =
  | { readonly kind: 'done' }
  /** One sentence that can be shown: it contains no keys and does not quote the service's response. */
  | { readonly kind: 'failed'; readonly why: string }

/** Posts to an HTTP service. It follows no redirects and throws at `timeoutMs`. */
export type Post = (
  url: string,
  options: { readonly timeoutMs: number; readonly headers: Readonly<Record<string, string>>; readonly body: string },
) => Promise<{ readonly status: number; readonly text: string }>
