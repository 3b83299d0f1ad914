import fc from 'fast-check'
import { expect, it } from 'vitest'
import { drawQr, quietZone } from './qr-path.ts'

/** Walks the path as a browser would, and notes which modules the pen covers. */
function drawn(path: string, size: number): readonly string[] {
  const grid = Array.from({ length: size }, () => Array.from({ length: size }, () => '0'))
  let [x, y] = [0, 0]
  for (const [, command, first = '', second = ''] of path.matchAll(/([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?/g)) {
    if (command === 'M') [x, y] = [Number(first), Number(second)]
    else if (command === 'm') [x, y] = [x + Number(first), y + Number(second)]
    else {
      for (let step = 0; step < Number(first); step++) {
        const row = grid[Math.floor(y)]
        if (row) row[x + step] = '1'
      }
      x += Number(first)
    }
  }
  return grid.map((row) => row.join(''))
}

it('draws every dark module and no other, inside a quiet zone', () => {
  const square = fc.integer({ min: 1, max: 30 }).chain((side) =>
    fc.array(fc.string({ unit: fc.constantFrom('0', '1'), minLength: side, maxLength: side }), {
      minLength: side,
      maxLength: side,
    }),
  )
  fc.assert(
    fc.property(square, (rows) => {
      const size = rows.length + 2 * quietZone
      const edge = '0'.repeat(quietZone)
      const blank = Array.from({ length: quietZone }, () => '0'.repeat(size))
      expect(drawn(drawQr(rows).path, size)).toEqual([...blank, ...rows.map((row) => `${edge}${row}${edge}`), ...blank])
    }),
  )
})

it('draws codes of all usual links at one size, with whole modules of at least 4 pixels', () => {
  const sides = Array.from({ length: 20 }, (_, version) => 21 + 4 * version).map((modules) => {
    const rows = Array.from({ length: modules }, () => '1'.repeat(modules))
    const { viewBox, side } = drawQr(rows)
    const [x = 0, y = 0, width = 0, height = 0] = viewBox.split(' ').map(Number)
    const pixels = side / width
    expect(pixels).toBe(Math.round(pixels))
    expect(pixels).toBeGreaterThanOrEqual(4)
    expect([y, height]).toEqual([x, width])
    // The quiet zone is inside the frame.
    expect(x).toBeLessThanOrEqual(0)
    expect(x + width).toBeGreaterThanOrEqual(rows.length + 2 * quietZone)
    return side
  })
  expect(new Set(sides.slice(0, 14))).toEqual(new Set([346]))
})
