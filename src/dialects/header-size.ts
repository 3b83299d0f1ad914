/** Limits the headers that other protocols add to a 402. Proxies reject responses with longer headers. */
import type { MintTable, Network, TokenCode } from '../core/money/tokens.ts'
import { oneRequest } from '../core/payment/allowance.ts'
import { createMpp, type MppParts } from './mpp.ts'
import { createX402 } from './x402.ts'

const mostBytes = 3_500
/** A path and query of usual length, and values of the greatest length that occurs. */
const [path, address, units] = ['/'.padEnd(100, 'p'), 'A'.repeat(44), 10n ** 15n]
const feePayer = { address, recent: () => ({ blockhash: address }), isOffering: () => true }

/** The configuration of a route that sells single requests in other protocols. */
export interface ForeignTerms {
  readonly network: Network
  readonly recipient: string
  readonly splits: readonly { readonly recipient: string }[]
  readonly token: TokenCode
  readonly acceptedMints: readonly TokenCode[]
  readonly mints: MintTable
  readonly description: string | undefined
  readonly publicUrl: string | undefined
  readonly isSponsored: boolean
  readonly hasX402: boolean
  readonly mpp: Omit<MppParts, 'sponsor'> | undefined
}

/** The problem with the headers of a route's challenges, if they are too long. */
export function checkHeaderSize({ token, description, publicUrl, mpp, ...terms }: ForeignTerms): string | undefined {
  const { network, recipient, acceptedMints, mints } = terms
  const amounts = Object.fromEntries(acceptedMints.map((code) => [code, units]))
  const splits = terms.splits.map((split) => ({ recipient: split.recipient, amounts }))
  const common = { recipient, currency: token, price: units, acceptedMints, amounts, mints, network }
  // Rewards decide later whether x402 is offered beside splits.
  const about = {
    ...(splits.length > 0 && { splits, isCollected: true }),
    ...(description !== undefined && { description }),
  }
  const offer = { ...common, allowance: oneRequest, ...about }
  const dialects = [
    ...(terms.hasX402 ? [createX402({ network, sponsor: feePayer })] : []),
    ...(mpp ? [createMpp({ ...mpp, sponsor: terms.isSponsored ? feePayer : undefined })] : []),
  ]
  const resource = JSON.stringify(`${publicUrl ?? 'http://localhost:8402'}${path}`)
  const parts = { requestId: 'R'.repeat(95), resource, expiresAt: '2026-01-01T00:00:00Z', proof: 'bare' } as const
  const headers = dialects.flatMap((dialect) => dialect.prepare(offer)?.(parts) ?? [])
  const length = headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)
  if (length <= mostBytes) return undefined
  return (
    `sponsor, mpp: the headers of a 402 would have ${length} bytes, and proxies accept about ${mostBytes}; ` +
    'shorten description or publicUrl, or accept fewer tokens'
  )
}
