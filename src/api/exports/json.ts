/** Writes an export as one JSON array, a page at a time. A truncated export is invalid JSON, so the reader notices. */
import type { PagesOf } from './rows.ts'

export async function* jsonChunks<Column extends string>(
  pages: PagesOf<Column>,
  columns: readonly Column[],
): AsyncGenerator<string, void, undefined> {
  let lead = '[\n'
  for await (const page of pages) {
    yield lead + page.map((record) => JSON.stringify(record, [...columns])).join(',\n')
    lead = ',\n'
  }
  yield lead === '[\n' ? '[]\n' : '\n]\n'
}
