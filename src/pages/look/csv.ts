/** CSV from what a table shows. A cell that begins like a formula gets an apostrophe in front, which makes it text. */
const formula = /^[\s'"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^'*[\t\r\n]/
/** A program with other separators cuts cells elsewhere: the beginning of every piece counts. */
const piece = /([;,|\t\r\n"][\s'"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g

export function guardCell(text: string): string {
  const inside = text.replace(piece, "$1'")
  return formula.test(inside) ? `'${inside}` : inside
}

export function formatCsv(rows: readonly (readonly string[])[]): string {
  const cell = (text: string) => {
    const guarded = guardCell(text)
    return /[",;|'\t\r\n]|^\s|\s$/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
  }
  // Excel takes a file without a byte order mark for the code page of the country.
  return `\ufeff${rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')}`
}
