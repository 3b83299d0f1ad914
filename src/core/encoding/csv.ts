/**
 * CSV that is safe in spreadsheets. RFC 4180: commas, CRLF, a header, quotes where needed.
 *
 * Spreadsheets execute a cell that begins like a formula, and clients choose the names of endpoints. A program with
 * other separators splits cells at other places, so the guard checks the beginning of every piece. An apostrophe in
 * front makes the piece text. `readCell` removes it again and restores every text exactly.
 */

/** Without it, Excel decodes the file with the local code page. */
export const byteOrderMark = '\ufeff'

/** The characters that start a formula, and their full-width forms, which Japanese Excel treats alike. */
const signs = '=+\\-@\uff1d\uff0b\uff0d\uff20'
const beginsFormula = new RegExp(`^(?:[\\s'"]*[${signs}]|'*[\\t\\r\\n])`)
const piece = new RegExp(`([;,|\\t\\r\\n"][\\s'"]*)(?=[${signs}])`, 'g')
const guardedPiece = new RegExp(`([;,|\\t\\r\\n"][\\s'"]*)'(?=[${signs}])`, 'g')
/** The common case: letters, digits, and characters that are harmless inside a cell. */
const plain = /^(?:[\w/.:][\w/.:-]*)?$/

export function guardCell(text: string): string {
  if (plain.test(text)) return text
  const inside = text.replace(piece, "$1'")
  return beginsFormula.test(inside) ? `'${inside}` : inside
}

/** Restores the text of a cell that `guardCell` wrote. */
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
