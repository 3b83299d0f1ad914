/** A unique picture, drawn from the signature of the payment that bought it. */
import { decodeSignature } from '../../core/encoding/base58.ts'

const size = 640
const centre = size / 2

/** An SVG of woven rings. The same transaction always gives the same picture. */
export function drawArt(tx: string): string {
  const bytes = decodeSignature(tx) ?? new Uint8Array(64)
  const at = (index: number) => bytes[index % bytes.length] ?? 0
  const hue = Math.round((at(0) / 255) * 360)
  const rings = Array.from({ length: 9 }, (_, ring) => {
    const points = ringPoints({
      radius: 60 + ring * 22 + (at(ring + 1) / 255) * 18,
      petals: 3 + (at(ring + 10) % 9),
      depth: 6 + (at(ring + 20) / 255) * 26,
      turn: (at(ring + 30) / 255) * Math.PI * 2,
    })
    const colour = `hsl(${(hue + ring * (8 + (at(40) % 24))) % 360} 85% ${48 + (at(ring + 41) % 26)}%)`
    return `<polygon points="${points}" fill="none" stroke="${colour}" stroke-width="${1.5 + (at(ring + 51) % 5)}"/>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" role="img" aria-label="Drawn from payment ${tx}">`,
    `<rect width="${size}" height="${size}" fill="hsl(${(hue + 200) % 360} 40% 9%)"/>`,
    ...rings,
    `<text x="${centre}" y="${size - 18}" fill="hsl(${hue} 30% 70%)" font-family="monospace" font-size="11" text-anchor="middle">${tx.slice(0, 44)}</text>`,
    '</svg>',
    '',
  ].join('\n')
}

interface Ring {
  readonly radius: number
  readonly petals: number
  readonly depth: number
  readonly turn: number
}

function ringPoints({ radius, petals, depth, turn }: Ring): string {
  return Array.from({ length: 240 }, (_, step) => {
    const angle = (step / 240) * Math.PI * 2
    const distance = radius + depth * Math.sin(petals * angle + turn)
    return `${(centre + distance * Math.cos(angle)).toFixed(1)},${(centre + distance * Math.sin(angle)).toFixed(1)}`
  }).join(' ')
}
