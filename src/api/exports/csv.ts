/** Writes an export as CSV, page by page. */
import { byteOrderMark, formatCsvLine } from '../../core/encoding/csv.ts'
import type { PagesOf } from './rows.ts'

export async function* csvChunks<Column extends string>(
  pages: PagesOf<Column>,
  columns: readonly Column[],
  isMarked: boolean,
): AsyncGenerator<string, void, undefined> {
  yield `${isMarked ? byteOrderMark : ''}${formatCsvLine(columns)}`
  for await (const page of pages) {
    let text = ''
    for (const record of page) text += formatCsvLine(columns.map((column) => record[column]))
    yield text
  }
}
