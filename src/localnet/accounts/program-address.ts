/** Program-derived addresses. They are not points of the curve, so no key can sign for them. */
import { createHash } from 'node:crypto'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { decodeKey } from './account.ts'
import { programs } from './addresses.ts'

const prime = 2n ** 255n - 19n
const curveConstant = 37095705934669439343138083508754565189542113879843219016388785533085940283555n

export function isOnCurve(bytes: Uint8Array): boolean {
  const little = Buffer.from(bytes).reverse()
  little[0] = (little[0] ?? 0) & 0x7f
  const y = BigInt(`0x${little.toString('hex')}`) % prime
  const square = (y * y) % prime
  const above = (square - 1n + prime) % prime
  const below = (curveConstant * square + 1n) % prime
  // x² = above/below has a root if and only if above·below is zero or a square.
  const product = (above * below) % prime
  return product === 0n || power(product, (prime - 1n) / 2n) === 1n
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  let factor = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * factor) % prime
    factor = (factor * factor) % prime
  }
  return result
}

export function programAddress(seeds: readonly Uint8Array[], program: string): string {
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash('sha256')
    for (const seed of seeds) hash.update(seed)
    const bytes = hash.update(Uint8Array.of(bump)).update(decodeKey(program)).update('ProgramDerivedAddress').digest()
    if (!isOnCurve(bytes)) return encodeBase58(bytes)
  }
  throw new Error('no program address exists for these seeds')
}

export function associatedTokenAddress(wallet: string, mint: string, tokenProgram: string): string {
  return programAddress([wallet, tokenProgram, mint].map(decodeKey), programs.associatedToken)
}
