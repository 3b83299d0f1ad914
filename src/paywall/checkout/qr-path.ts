/** Draws a QR code as one SVG path. The page's script puts the drawing of another token in its place. */
import type { QrDrawing } from '../../core/checkout/messages.ts'

/** Width of the light margin around the code, in modules. */
export const quietZone = 4
/** The side of every code on the page, in pixels. It has room for a link of 450 characters. */
const usualSide = 346
/** Phones read smaller modules badly. */
const leastModule = 4

/**
 * All codes have the same side, so that another token moves nothing. Each module is a whole number of pixels, because
 * scanners read uneven modules badly, and the rest is margin.
 */
export function drawQr(rows: readonly string[]): QrDrawing {
  const size = rows.length + 2 * quietZone
  const module = Math.max(leastModule, Math.floor(usualSide / size))
  const side = Math.max(usualSide, size * module)
  const start = -Math.floor((side - size * module) / 2) / module
  return { viewBox: `${start} ${start} ${side / module} ${side / module}`, side, path: drawPath(rows) }
}

/** Draws with a stroke one module wide, which takes half the text of filled squares. `1` stands for dark. */
function drawPath(rows: readonly string[]): string {
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
