/** The sponsor: the wallet that pays network fees for clients of other protocols. */
import { z } from 'zod'
import { parseDecimal } from '../../core/money/money.ts'
import { solDecimals } from '../../core/money/tokens.ts'
import type { SubmissionLimits } from '../../core/ports/sponsor.ts'
import { type AccountKey, accountKey, decimal } from './kinds.ts'

export interface SponsorConfig {
  /** Undefined on localnet only, which creates and funds a key. */
  readonly key: AccountKey | undefined
  /** The balance, in lamports, below which it pays nothing. */
  readonly floor: bigint
  /** The lowest price that it sponsors, in lamports. */
  readonly leastPrice: bigint
  readonly limits: SubmissionLimits
}

export const sponsorOption = z.union(
  [
    z.literal(true),
    z.string().min(1),
    z.strictObject({
      key: accountKey.optional(),
      perDay: decimal.optional(),
      lostPerDay: decimal.optional(),
      floor: decimal.optional(),
      minMargin: z
        .number({ error: 'must be a number' })
        .min(0, 'must be at least 0')
        .max(1e6, 'must be at most 1000000')
        .optional(),
    }),
  ],
  { error: 'must be the path of a key file, { key, perDay, lostPerDay, floor, minMargin }, or true on localnet' },
)

/** Two signatures, and the priority fee of x402 clients, in lamports. */
export const usualFee = 10_001n
const usualMargin = 2

const usual = { perDay: '0.1', lostPerDay: '0.005', floor: '0.02' } as const
const failures = { failuresPerPayer: 3, failuresPerClient: 10 }

/** If the payer pays the fee, only failures are limited. */
export const unsponsoredLimits: SubmissionLimits = { perDay: 0n, lostPerDay: 0n, ...failures }

/** Reads the option. Problems are added to the list. */
export function readSponsor(
  option: z.output<typeof sponsorOption> | undefined,
  network: string,
  problems: string[],
): SponsorConfig | undefined {
  if (option === undefined) return undefined
  const given = option === true ? {} : typeof option === 'string' ? { key: option } : option
  if (given.key === undefined && network !== 'localnet')
    problems.push(
      `sponsor.key: ${network} needs the key of a wallet that holds only SOL (option sponsor.key or PAYSTILE_SPONSOR_KEY)`,
    )
  const amounts: Readonly<Partial<Record<keyof typeof usual, string | number | undefined>>> = given
  const read = (name: keyof typeof usual): bigint => {
    const units = parseDecimal(String(amounts[name] ?? usual[name]), solDecimals)
    if (units === undefined) problems.push(`sponsor.${name}: must be an amount of SOL, such as 0.1`)
    return units ?? 0n
  }
  const [perDay, lostPerDay, floor] = [read('perDay'), read('lostPerDay'), read('floor')]
  const { minMargin = usualMargin } = { minMargin: undefined, ...given }
  const leastPrice = BigInt(Math.ceil(minMargin * Number(usualFee)))
  return { key: given.key, floor, leastPrice, limits: { perDay, lostPerDay, ...failures } }
}
