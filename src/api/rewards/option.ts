/** The option `rewards`: shares of payments for partners, developers and payers, and how they are paid. */
import { z } from 'zod'
import { formatNumber, parseDecimal, parseUnits } from '../../core/money/money.ts'
import type { Mint, MintTable } from '../../core/money/tokens.ts'
import { worthDecimals } from '../../core/money/valuation.ts'
import { checkRules } from '../../core/payouts/reward-rules.ts'
import type { RewardRules } from '../../core/payouts/rewards.ts'
import type { AccountKey, OptionsInput } from '../../paywall/config/kinds.ts'
import { accountKey, decimal, flag, list, number, seconds, text } from '../../paywall/config/kinds.ts'

type Amount = z.output<typeof decimal>

const rest = z.strictObject({ wallet: text, weight: number })
const partner = z.strictObject({
  name: text,
  wallet: text,
  /** Percent: 85 to 95. */
  share: decimal,
  /** Paths: `/api/weather`, or `/api/*` for all paths below. In a gateway's file, routes name their `partner` instead. */
  endpoints: list(text, 'must be a list of paths').optional(),
})

/** Shares are in percent. */
const rewardsShape = {
  /**
   * The wallet whose payments are shared.
   *
   * @defaultValue the gateway's `recipient`
   */
  collector: text.optional(),
  /**
   * `{ name, wallet, share, endpoints }` of each partner. In a gateway's file, routes name their `partner` instead.
   *
   * @defaultValue none
   */
  partners: list(partner, 'must be a list of { name, wallet, share, endpoints }').optional(),
  /**
   * Percent of the payments through verified endpoints: 3 to 5, or 0.
   *
   * @defaultValue `0`
   */
  developers: decimal.optional(),
  /**
   * Percent of every payment, `5`, or by the amount spent in the 7 days before it, in USDC: `{ 0: 1, 50: 3, 500: 5 }`. At
   * most 5.
   *
   * @defaultValue none
   * @see [Cashback](rewards.md#cashback)
   */
  cashback: z
    .union([decimal, z.record(z.string(), decimal)], {
      error: 'must be a percentage such as 5, or percentages by amount, such as { 0: 1, 50: 3 }',
    })
    .optional(),
  /**
   * `{ wallet, weight }`: takes a share of the rest by weight. Treasury, buyback and incentives may be one wallet.
   *
   * @defaultValue – (required)
   */
  treasury: rest,
  /**
   * `{ wallet, weight }`, as `treasury`.
   *
   * @defaultValue – (required)
   */
  buyback: rest,
  /**
   * `{ wallet, weight }`, as `treasury`.
   *
   * @defaultValue – (required)
   */
  incentives: rest,
  /**
   * Also rewards developers and payers of payments without a partner, at your own cost.
   *
   * @defaultValue `false`
   */
  withoutPartner: flag.optional(),
  /**
   * The host that serves each endpoint, so that its developer can prove it.
   *
   * @defaultValue the gateway's upstreams
   */
  hosts: z.record(z.string(), text, { error: 'must be hosts by endpoint' }).optional(),
  /**
   * The key that pays. Without it this process records shares but sends no payouts.
   *
   * @defaultValue `PAYSTILE_PAYOUT_KEY`
   */
  key: accountKey.optional(),
  /**
   * The smallest payout, in NATIVE.
   *
   * @defaultValue `1`
   */
  threshold: decimal.optional(),
  /**
   * The most that all payouts may send within 24 hours, in NATIVE: payouts that landed then, whenever they were planned, and
   * payouts under way.
   *
   * @defaultValue none
   */
  dailyCap: decimal.optional(),
  /**
   * Interval between payout runs.
   *
   * @defaultValue `3600`
   */
  everySeconds: seconds(1, 7 * 86_400).optional(),
  /**
   * The most that one transaction may cost, in SOL. Priority starts low and doubles with each attempt that did not land, up
   * to this fee.
   *
   * @defaultValue `0.0001`
   */
  fee: decimal.optional(),
  /**
   * The most that the transactions of all payouts within 24 hours may cost, in SOL. A repeated signature counts again; beyond
   * the limit, payouts wait.
   *
   * @defaultValue `0.1`
   */
  dailyFees: decimal.optional(),
}
export const rewardsOption = z.strictObject(rewardsShape)
export type RewardsOption = OptionsInput<typeof rewardsShape>

export interface RewardsConfig {
  readonly rules: RewardRules
  readonly key: AccountKey | undefined
  /** Base units of NATIVE; `dailyCap` is undefined without a limit. */
  readonly least: bigint
  readonly dailyCap: bigint | undefined
  readonly everyMs: number
  /** Lamports. */
  readonly dailyFees: bigint
  readonly fee: bigint
}

export interface RewardsContext {
  readonly mints: MintTable
  /** Wallets with access to revenue. Their own payments earn no rewards. */
  readonly owners: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Reads the option. Problems are added to the list, and the result is then undefined. */
export function readRewards(
  option: z.output<typeof rewardsOption> | undefined,
  { mints, owners, environment }: RewardsContext,
  problems: string[],
): RewardsConfig | undefined {
  if (option === undefined) return undefined
  const native = mints.NATIVE
  if (!native) {
    problems.push('mints.NATIVE: rewards are paid in NATIVE, but no mint is configured; set its address and decimals')
    return undefined
  }
  const found: string[] = []
  const config = read(option, native, owners, environment['PAYSTILE_PAYOUT_KEY'] || undefined, found)
  problems.push(...found.map((problem) => `rewards.${problem}`))
  return found.length > 0 ? undefined : config
}

function read(
  given: z.output<typeof rewardsOption>,
  native: Mint,
  owners: readonly string[],
  usualKey: string | undefined,
  problems: string[],
): RewardsConfig {
  const units = (name: string, value: Amount, decimals: number): bigint => {
    const read = parseUnits(typeof value === 'number' ? (formatNumber(value) ?? '') : value, decimals)
    if (read === undefined) problems.push(`${name}: must be a decimal with at most ${decimals} decimal places`)
    return read ?? 0n
  }
  const bps = (name: string, value: Amount): number => Number(units(name, value, 2))
  const tier = (from: string, percent: Amount) => {
    const worth = parseDecimal(from, worthDecimals)
    if (worth === undefined) problems.push(`cashback.${from}: must be an amount of USDC`)
    return { from: worth ?? 0n, bps: bps(`cashback.${from}`, percent) }
  }
  const { cashback = {}, dailyCap } = given
  const tiers =
    typeof cashback === 'object'
      ? Object.entries(cashback).map(([from, percent]) => tier(from, percent))
      : [{ from: 0n, bps: bps('cashback', cashback) }]
  const rules: RewardRules = {
    collectors: given.collector === undefined ? [] : [given.collector],
    partners: (given.partners ?? []).map(({ share, name, wallet, endpoints = [] }) => {
      return { name, wallet, bps: bps(`partners.${name}.share`, share), endpoints }
    }),
    developerBps: bps('developers', given.developers ?? 0),
    cashback: tiers,
    rest: { treasury: given.treasury, buyback: given.buyback, incentives: given.incentives },
    withoutPartner: given.withoutPartner ?? false,
    hosts: Object.entries(given.hosts ?? {}).map(([endpoint, host]) => ({ endpoint, host })),
    insiders: owners,
  }
  problems.push(...checkRules(rules))
  return Object.freeze({
    rules,
    key: given.key ?? usualKey,
    least: units('threshold', given.threshold ?? 1, native.decimals),
    dailyCap: dailyCap === undefined ? undefined : units('dailyCap', dailyCap, native.decimals),
    everyMs: (given.everySeconds ?? 3_600) * 1_000,
    dailyFees: units('dailyFees', given.dailyFees ?? '0.1', 9),
    fee: units('fee', given.fee ?? '0.0001', 9),
  })
}
