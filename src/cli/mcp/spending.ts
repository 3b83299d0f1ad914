/** The limits that the user sets when the MCP server starts. No tool can raise them. */
import type { FileJournal } from '../../client/journal/file.ts'
import type { ClientOptions, PaymentOffer } from '../../client/options.ts'
import { readLimits } from '../../client/policy.ts'
import { formatUnits, parseDecimal } from '../../core/money/money.ts'
import { type ByToken, findDecimals, knownMints, type Network, type TokenCode } from '../../core/money/tokens.ts'
import type { Clock } from '../../core/runtime.ts'
import { usage } from '../output.ts'
import { readAmount, readAmounts } from '../payment-options.ts'

/** Decimals by token code. */
export type Amounts = ByToken<string>

export interface Spending {
  /** The most for one UTC day. Other tokens are not used. */
  readonly perDay: Amounts
  /** The most for one payment. */
  readonly maxPrice: Amounts
  /** Payments above these amounts need the user's approval, in every token that is missing here too. */
  readonly askOver: Amounts | undefined
}

export function readSpending(budget: readonly string[], max: readonly string[], askOver: readonly string[]): Spending {
  if (budget.length === 0)
    throw usage('Set the most that the agent may spend in a day, such as --budget "1 USDC". Nothing was started.')
  const perDay = readAmounts('--budget', budget)
  const limited = (flag: string, texts: readonly string[]): Amounts => {
    const amounts = readAmounts(flag, texts)
    for (const token of Object.keys(amounts) as TokenCode[])
      if (perDay[token] === undefined) throw usage(`${flag} has an amount of ${token}, but --budget has none.`)
    return amounts
  }
  const maxPrice = { ...perDay, ...limited('--max', max) }
  return { perDay, maxPrice, askOver: askOver.length === 0 ? undefined : limited('--ask-over', askOver) }
}

/** The limits of one call, which may be lower. Throws the reason if they would be higher. */
export function lowerMaxPrice({ maxPrice }: Spending, asked: string | undefined): Amounts {
  if (asked === undefined) return maxPrice
  const [token, amount] = readAmount(asked)
  const most = maxPrice[token]
  if (most === undefined) throw usage(`The user's budget has no ${token}.`)
  return { [token]: isMore(amount, most) ? most : amount }
}

/** Whether the user must approve this payment. */
export function needsApproval({ askOver }: Spending, { token, amount }: PaymentOffer): boolean {
  return askOver !== undefined && isMore(amount, askOver[token] ?? '0')
}

/** More decimal places than any token has. */
const finest = 18

function isMore(amount: string, than: string): boolean {
  const [one, other] = [parseDecimal(amount, finest), parseDecimal(than, finest)]
  return one === undefined || other === undefined || one > other
}

export interface Today {
  readonly network: Network
  readonly token: TokenCode
  readonly spent: string
  readonly left: string
}

/**
 * The day's spending by network and token. Every purchase of this user counts, also those of other programs, except in
 * tokens whose decimals are unknown here: no purchase in them is possible.
 */
export function readToday(
  journal: FileJournal,
  clock: Clock,
  { perDay }: Spending,
  { mints }: Pick<ClientOptions, 'mints'>,
): readonly Today[] {
  const sums = new Map<string, { readonly network: Network; readonly token: TokenCode; readonly units: bigint }>()
  for (const { network, token, units } of journal.spentOn(new Date(clock.now()).toISOString().slice(0, 10))) {
    const name = `${network} ${token}`
    sums.set(name, { network, token, units: units + (sums.get(name)?.units ?? 0n) })
  }
  return [...sums.values()].flatMap(({ network, token, units }) => {
    const decimals = findDecimals(token, { ...knownMints[network], ...mints })
    if (decimals === undefined) return []
    const { perDay: most = 0n } = readLimits({ token, decimals }, { budget: { perDay } })
    const left = most > units ? most - units : 0n
    return { network, token, spent: formatUnits(units, decimals), left: formatUnits(left, decimals) }
  })
}
