/** QR codes as rows of modules, `1` for dark, without the margin. */
import { encode } from 'uqr'

export function encodeQr(text: string): readonly string[] {
  // Read from a screen at arm's length: the lowest error correction gives the largest modules. Choosing the best of
  // eight masks takes ten times as long and does not improve the reading of random text.
  const { data } = encode(text, { ecc: 'L', border: 0, maskPattern: 3 })
  return data.map((row) => row.map((isDark) => (isDark ? '1' : '0')).join(''))
}
