/** Writes an export into the configured spreadsheet. Repeating it gives the same sheet. */
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { SheetsOutcome, SheetsPort } from '../../core/ports/sheets.ts'
import type { Clock } from '../../core/runtime.ts'
import type { PaymentReport } from '../analytics/format.ts'
import type { Pages } from './rows.ts'

export type Pushed =
  | { readonly kind: 'written'; readonly rows: number }
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly rows: number; readonly why: string }

const turn = 'sheets:turn'
/** The longest export. */
const turnMs = 10 * 60_000
/** The lock also covers a page that begins just before that. It ends the lock of a process that died, too. */
const lockMs = turnMs + 2 * 60_000

/** A lock lets one server write at a time. Otherwise the rows of two exports could mix. */
export async function pushRows(
  parts: { readonly sheets: SheetsPort; readonly kv: KeyValueStore; readonly clock: Clock },
  pages: Pages,
  columns: readonly (keyof PaymentReport)[],
): Promise<Pushed> {
  const { sheets, kv, clock } = parts
  if (!(await kv.put(turn, '', clock.now() + lockMs))) return { kind: 'busy' }
  const end = clock.monotonic() + turnMs
  let rows = 0
  try {
    const failed = (outcome: SheetsOutcome): Pushed | undefined =>
      outcome.kind === 'failed' ? { kind: 'failed', rows, why: outcome.why } : undefined
    const begun = failed(await sheets.clear()) ?? failed(await sheets.append([columns]))
    if (begun) return begun
    for await (const page of pages) {
      if (clock.monotonic() >= end)
        return { kind: 'failed', rows, why: 'the export took longer than ten minutes; request a shorter period' }
      const stop = failed(await sheets.append(page.map((record) => columns.map((column) => record[column]))))
      if (stop) return stop
      rows += page.length
    }
    return { kind: 'written', rows }
  } finally {
    await kv.remove(turn)
  }
}
