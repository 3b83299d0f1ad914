/** A QR code as one SVG path, the same on the page that the service writes and after another token was chosen. */

/** Modules that must stay light around the code. */
export const quietZone = 4

/** Draws with a stroke one module wide: half the text of filled squares. `1` stands for dark. */
export function qrPath(rows: readonly string[]): string {
  let path = `M${quietZone} ${quietZone + 0.5}`
  let [x, y] = [0, 0]
  rows.forEach((row, line) => {
    for (const run of row.matchAll(/1+/g)) {
      path += `m${run.index - x} ${line - y}h${run[0].length}`
      x = run.index + run[0].length
      y = line
    }
  })
  return path
}

/** Modules per side, with the quiet zone. */
export function qrSize(rows: readonly string[]): number {
  return rows.length + 2 * quietZone
}

/** Pixels per side. Each module gets whole ones: what is cut unevenly is read badly. */
export function qrPixels(rows: readonly string[]): number {
  const size = qrSize(rows)
  return size * Math.max(2, Math.floor(292 / size))
}
