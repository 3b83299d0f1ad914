/** QR codes as rows of modules, `1` for dark, without the margin. */
import { encode } from 'uqr'

export function encodeQr(text: string): readonly string[] {
  // Read from a screen at arm's length: the least correction makes the largest modules.
  const { data } = encode(text, { ecc: 'L', border: 0 })
  return data.map((row) => row.map((isDark) => (isDark ? '1' : '0')).join(''))
}
