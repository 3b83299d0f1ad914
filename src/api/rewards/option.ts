/** The option `rewards` as it is used: who is owed what of payments, and how that is paid. */
import { z } from 'zod'
import { formatNumber, parseDecimal, parseUnits } from '../../core/money/money.ts'
import type { Mint, MintTable } from '../../core/money/tokens.ts'
import { worthDecimals } from '../../core/money/valuation.ts'
import { checkRules } from '../../core/payouts/reward-rules.ts'
import type { RewardRules } from '../../core/payouts/rewards.ts'
import { accountKeyOption } from '../../paywall/config/mints.ts'
import type { AccountKey } from '../../paywall/config/options.ts'
import { describe, explain } from '../../paywall/config/schema.ts'

type Amount = number | string

/** What an operator may say. Shares are in percent. */
export interface RewardsOption {
  /** The wallet whose payments are shared out. In a gateway's file: its `recipient`, if left out. */
  readonly collector?: string
  /** Of what passes through verified endpoints: 3 to 5, or 0. Default 0. */
  readonly developers?: Amount
  /**
   * Percent of every payment, `5`, or by what was spent within the 7 days before it, in USDC: `{ 0: 1, 50: 3, 500: 5 }`. At
   * most 5. Default none.
   */
  readonly cashback?: Amount | Readonly<Record<string, Amount>>
  /** Who shares the rest, by weight. */
  readonly treasury: RestOption
  readonly buyback: RestOption
  readonly incentives: RestOption
  readonly partners?: readonly PartnerOption[]
  /** True rewards developers and payers also where no partner is, at your own cost. */
  readonly withoutPartner?: boolean
  /** Which host answers for an endpoint, so that its developer can prove it. A gateway knows by its upstreams. */
  readonly hosts?: Readonly<Record<string, string>>
  /** The key that pays. Without it payments are shared out, and nobody is paid by this process. `PAYSTILE_PAYOUT_KEY` too. */
  readonly key?: AccountKey
  /** The least that is sent to anybody, in NATIVE. Default 1. */
  readonly threshold?: Amount
  /** The most that is sent to all within 24 hours, in NATIVE. Default: no limit. */
  readonly dailyCap?: Amount
  /** How often it is looked whether anybody is to be paid. Default 3600. */
  readonly everySeconds?: number
  /** What all transactions may cost within 24 hours, in SOL. Default 0.1. */
  readonly dailyFees?: Amount
  /** What one transaction may cost at the most, in SOL. Default 0.0001. */
  readonly fee?: Amount
}

export interface RestOption {
  readonly wallet: string
  readonly weight: number
}

export interface PartnerOption {
  readonly name: string
  readonly wallet: string
  /** Percent: 85 to 95. */
  readonly share: Amount
  /** Paths: `/api/weather`, or `/api/*` for all below. In a gateway's file routes name their `partner` instead. */
  readonly endpoints?: readonly string[]
}

export interface RewardsConfig {
  readonly rules: RewardRules
  readonly key: AccountKey | undefined
  /** Base units of NATIVE; undefined for no limit. */
  readonly least: bigint
  readonly dailyCap: bigint | undefined
  readonly everyMs: number
  /** Lamports. */
  readonly dailyFees: bigint
  readonly fee: bigint
}

const amount = z.union([z.number(), z.string()], { error: 'must be a number or decimal text' })
const text = z.string({ error: 'must be text' })
const rest = z.strictObject({ wallet: text, weight: z.number({ error: 'must be a number' }) })
const rewardsSchema = z.strictObject({
  collector: text.optional(),
  developers: amount.default(0),
  cashback: z
    .union([amount, z.record(z.string(), amount)], {
      error: 'must be a percentage such as 5, or percentages by amounts, such as { 0: 1, 50: 3 }',
    })
    .default({}),
  treasury: rest,
  buyback: rest,
  incentives: rest,
  partners: z
    .array(z.strictObject({ name: text, wallet: text, share: amount, endpoints: z.array(text).default([]) }), {
      error: 'must be a list of { name, wallet, share, endpoints }',
    })
    .default([]),
  withoutPartner: z.boolean({ error: 'must be true or false' }).default(false),
  hosts: z.record(z.string(), text, { error: 'must be hosts by endpoint' }).default({}),
  key: accountKeyOption,
  threshold: amount.default(1),
  dailyCap: amount.optional(),
  everySeconds: z
    .number({ error: 'must be a number of seconds' })
    .min(1, { error: 'must be at least 1' })
    .max(7 * 86_400, { error: 'must be at most 604800' })
    .default(3_600),
  dailyFees: amount.default('0.1'),
  fee: amount.default('0.0001'),
})

export interface RewardsContext {
  readonly mints: MintTable
  /** Who may read revenue: payments by them earn nobody anything. */
  readonly owners: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Reads the option. What is wrong joins the problems; then the answer is undefined. */
export function readRewardsOption(
  option: unknown,
  { mints, owners, environment }: RewardsContext,
  problems: string[],
): RewardsConfig | undefined {
  if (option === undefined) return undefined
  const native = mints.NATIVE
  if (!native) {
    problems.push('mints.NATIVE: rewards are paid in NATIVE, which has no mint here; give its address and decimals')
    return undefined
  }
  const found: string[] = []
  const config = read(option, native, owners, environment['PAYSTILE_PAYOUT_KEY'] || undefined, found)
  problems.push(...found.map((problem) => `rewards.${problem}`))
  return found.length > 0 ? undefined : config
}

function read(
  option: unknown,
  native: Mint,
  owners: readonly string[],
  usualKey: string | undefined,
  problems: string[],
): RewardsConfig | undefined {
  const reading = rewardsSchema.safeParse(option, { reportInput: true, error: describe })
  if (!reading.success) {
    problems.push(...reading.error.issues.flatMap((issue) => explain(issue, Object.keys(rewardsSchema.shape))))
    return undefined
  }
  const given = reading.data
  const decimal = (name: string, value: Amount, decimals: number): bigint => {
    const units = parseUnits(typeof value === 'number' ? (formatNumber(value) ?? '') : value, decimals)
    if (units === undefined) problems.push(`${name}: must be a decimal number with at most ${decimals} places`)
    return units ?? 0n
  }
  const bps = (name: string, value: Amount): number => Number(decimal(name, value, 2))
  const tier = (from: string, percent: Amount) => {
    const worth = parseDecimal(from, worthDecimals)
    if (worth === undefined) problems.push(`cashback.${from}: must be an amount of USDC`)
    return { from: worth ?? 0n, bps: bps(`cashback.${from}`, percent) }
  }
  const cashback =
    typeof given.cashback === 'object'
      ? Object.entries(given.cashback).map(([from, percent]) => tier(from, percent))
      : [{ from: 0n, bps: bps('cashback', given.cashback) }]
  const rules: RewardRules = {
    collectors: given.collector === undefined ? [] : [given.collector],
    partners: given.partners.map(({ share, name, wallet, endpoints }) => {
      return { name, wallet, bps: bps(`partners.${name}.share`, share), endpoints }
    }),
    developerBps: bps('developers', given.developers),
    cashback,
    rest: { treasury: given.treasury, buyback: given.buyback, incentives: given.incentives },
    withoutPartner: given.withoutPartner,
    hosts: Object.entries(given.hosts).map(([endpoint, host]) => ({ endpoint, host })),
    insiders: owners,
  }
  problems.push(...checkRules(rules))
  const { dailyCap } = given
  return Object.freeze({
    rules,
    key: given.key ?? usualKey,
    least: decimal('threshold', given.threshold, native.decimals),
    dailyCap: dailyCap === undefined ? undefined : decimal('dailyCap', dailyCap, native.decimals),
    everyMs: given.everySeconds * 1_000,
    dailyFees: decimal('dailyFees', given.dailyFees, 9),
    fee: decimal('fee', given.fee, 9),
  })
}
