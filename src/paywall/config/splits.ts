/** The option `splits`: further wallets that each payment pays directly. */
import { z } from 'zod'
import { parseDecimal } from '../../core/money/money.ts'
import { readPrice } from '../../core/money/price.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import { dividePrice, mostSplits, type Split } from '../../core/payment/splits.ts'
import { decimal, wallet } from './kinds.ts'
import type { Pricing } from './pricing.ts'

const notSplit = 'must be { recipient, share } or { recipient, amount }'

export const splitsOption = z
  .array(
    z
      .strictObject({ recipient: wallet, share: decimal.optional(), amount: decimal.optional() }, { error: notSplit })
      .refine(({ share, amount }) => (share === undefined) !== (amount === undefined), { error: notSplit }),
    { error: `must be a list of { recipient, share } or { recipient, amount }` },
  )
  .max(mostSplits, `must have at most ${mostSplits} entries, because a transaction has no room for more`)
  .readonly()

interface SplitsRead {
  readonly recipient: string
  readonly splits?: z.output<typeof splitsOption> | undefined
}

const [shareDecimals, wholeShare] = [2, 10_000n]

/** Reads the option. Problems are added to the list. */
export function readSplits(
  { recipient, splits: given = [] }: SplitsRead,
  pricing: Pricing,
  acceptedMints: readonly TokenCode[],
  problems: string[],
): readonly Split[] {
  if (given.length === 0) return []
  const found: string[] = []
  const splits = given.map(({ recipient: to, share, amount }, index): Split => {
    const place = `splits.${index}`
    if (to === recipient) found.push(`${place}.recipient: is the recipient, who gets the rest anyway`)
    if (given.findIndex((one) => one.recipient === to) < index)
      found.push(`${place}.recipient: appears twice; add the parts up`)
    if (share === undefined)
      return { recipient: to, units: readAmount(`${place}.amount`, amount, pricing, acceptedMints, found) }
    const basisPoints = parseDecimal(String(share), shareDecimals) ?? 0n
    if (basisPoints <= 0n || basisPoints >= wholeShare)
      found.push(`${place}.share: must be a percentage above 0 and below 100, with at most two decimals`)
    return { recipient: to, basisPoints }
  })
  if (found.length === 0) found.push(...checkSum(splits, pricing))
  problems.push(...found)
  return splits
}

/** An amount fits only a price that is the same for all requests and in the same token. */
function readAmount(
  place: string,
  amount: z.output<typeof decimal> | undefined,
  { price, per, token, decimals }: Pricing,
  acceptedMints: readonly TokenCode[],
  problems: string[],
): bigint {
  const reading = readPrice(amount, token, decimals)
  if (reading.kind === 'problem') problems.push(`${place}: ${reading.why}`)
  if (typeof price === 'function' || per.kind !== 'allowance')
    problems.push(`${place}: needs a price that is the same for all requests; give a share instead`)
  if (acceptedMints.some((code) => code !== token))
    problems.push(`${place}: is in ${token}, so only ${token} can be accepted; give a share instead`)
  return reading.kind === 'price' ? reading.units : 0n
}

function checkSum(splits: readonly Split[], { price, per, token }: Pricing): readonly string[] {
  const shares = splits.reduce((sum, split) => sum + ('basisPoints' in split ? split.basisPoints : 0n), 0n)
  if (shares >= wholeShare) return ['splits: the shares must add up to less than 100 percent']
  // Other prices are divided when they are quoted.
  if (typeof price === 'function' || per.kind !== 'allowance' || price <= 0n) return []
  const divided = dividePrice(price, splits)
  if (!divided) return ['splits: they leave nothing of the price for the recipient']
  return splits.flatMap(({ recipient }, index) =>
    divided.parts.some((part) => part.recipient === recipient)
      ? []
      : [`splits.${index}.share: is less than the smallest unit of ${token} at this price`],
  )
}
