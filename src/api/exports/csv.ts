/**
 * CSV that spreadsheets only read. RFC 4180: commas, CRLF, a header, quotes where needed.
 *
 * A cell that begins like a formula is one to a spreadsheet, whatever it was meant to be; endpoints are named by whoever
 * asks for them. And a program that takes semicolons for its separator cuts cells where we did not: so the beginning of
 * every piece counts. An apostrophe before it makes it text. `readCell` takes it away again, and for every text exactly.
 */
import type { PagesOf } from './rows.ts'

/** Excel takes a file without it for the code page of the country. */
const byteOrderMark = '\ufeff'

/** The signs at which formulas begin, and their full-width twins, which Japanese Excel takes for the same. */
const signs = '=+\\-@\uff1d\uff0b\uff0d\uff20'
const beginsFormula = new RegExp(`^(?:[\\s'"]*[${signs}]|'*[\\t\\r\\n])`)
const piece = new RegExp(`([;,|\\t\\r\\n"][\\s'"]*)(?=[${signs}])`, 'g')
const guardedPiece = new RegExp(`([;,|\\t\\r\\n"][\\s'"]*)'(?=[${signs}])`, 'g')
/** Most cells: letters, digits, and signs that are harmless inside. */
const plain = /^(?:[\w/.:][\w/.:-]*)?$/

export function guardCell(text: string): string {
  if (plain.test(text)) return text
  const inside = text.replace(piece, "$1'")
  return beginsFormula.test(inside) ? `'${inside}` : inside
}

/** What was in a cell that `guardCell` wrote. */
export function readCell(text: string): string {
  const inside = text.startsWith("'") && beginsFormula.test(text.slice(1)) ? text.slice(1) : text
  return inside.replace(guardedPiece, '$1')
}

function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

export async function* csvChunks<Column extends string>(
  pages: PagesOf<Column>,
  columns: readonly Column[],
  isMarked: boolean,
): AsyncGenerator<string, void, undefined> {
  yield `${isMarked ? byteOrderMark : ''}${csvLine(columns)}`
  for await (const page of pages) {
    let text = ''
    for (const record of page) text += csvLine(columns.map((column) => record[column]))
    yield text
  }
}

function csvCell(text: string): string {
  if (plain.test(text)) return text
  const guarded = guardCell(text)
  return /[",;\t\r\n|']|^\s|\s$/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}
