/**
 * CSV that spreadsheets only read. RFC 4180: commas, CRLF, a header, quotes where needed.
 *
 * Spreadsheets execute a cell that begins like a formula, and clients choose the names of endpoints. A program with other
 * separators also splits cells at other places, so the beginning of every piece counts. An apostrophe before it makes it
 * text. `readCell` removes it again, exactly for every text.
 */

/** Without it, Excel reads a file in the code page of the country. */
export const byteOrderMark = '\ufeff'

/** The signs at which formulas begin, and their full-width forms, which Japanese Excel reads as the same. */
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

/** The text of a cell that `guardCell` wrote. */
export function readCell(text: string): string {
  const inside = text.startsWith("'") && beginsFormula.test(text.slice(1)) ? text.slice(1) : text
  return inside.replace(guardedPiece, '$1')
}

export function formatCsvLine(cells: readonly string[]): string {
  return `${cells.map(formatCell).join(',')}\r\n`
}

function formatCell(text: string): string {
  if (plain.test(text)) return text
  const guarded = guardCell(text)
  return /[",;\t\r\n|']|^\s|\s$/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}
