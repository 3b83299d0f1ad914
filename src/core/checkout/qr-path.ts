/** Draws a QR code as one SVG path. The service and the page's script share it, so both draw the same code. */

/** Width of the light margin around the code, in modules. */
export const quietZone = 4

/** Draws with a stroke one module wide, which takes half the text of filled squares. `1` stands for dark. */
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

/** Modules per side, including the quiet zone. */
export function qrSize(rows: readonly string[]): number {
  return rows.length + 2 * quietZone
}

/** Pixels per side. Each module is a whole number of pixels, because scanners read uneven modules badly. */
export function qrPixels(rows: readonly string[]): number {
  const size = qrSize(rows)
  return size * Math.max(2, Math.floor(292 / size))
}
