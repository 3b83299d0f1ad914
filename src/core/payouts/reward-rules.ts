/** Validates reward rules: the promised ranges, and a total outflow below the income. */
import { decodeAddress } from '../encoding/base58.ts'
import { parseUrl } from '../encoding/url.ts'
import { isUnspendable } from '../money/tokens.ts'
import { normalizeEndpoint, type RewardRules, restRoles } from './rewards.ts'

export const partnerRange = { least: 8_500, most: 9_500 } as const
export const developerRange = { least: 300, most: 500 } as const
export const mostCashback = 500
/** The maximum total for partner, developer and payer. A person in all three roles still loses by paying themselves. */
export const mostOutflow = 9_900

/** Lists all problems of the rules, each as `place: requirement`. */
export function checkRules(rules: RewardRules): readonly string[] {
  return [
    ...checkShares(rules),
    ...checkCashback(rules),
    ...checkRest(rules),
    ...checkPartners(rules),
    ...checkHosts(rules),
  ]
}

function checkShares({ developerBps, partners, cashback }: RewardRules): readonly string[] {
  const problems: string[] = []
  const { least, most } = developerRange
  if (developerBps !== 0 && !isWithin(developerBps, least, most))
    problems.push(`developers: must be ${percents(least)} to ${percents(most)} percent, or 0 for none`)
  const highest = Math.max(0, ...cashback.map(({ bps }) => bps))
  for (const { name, bps } of partners) {
    if (!isWithin(bps, partnerRange.least, partnerRange.most))
      problems.push(
        `partners.${name}.share: must be ${percents(partnerRange.least)} to ${percents(partnerRange.most)} percent`,
      )
    else if (bps + developerBps + highest > mostOutflow)
      problems.push(
        `partners.${name}.share: the sum with developers and the highest cashback is ${percents(bps + developerBps + highest)} percent; ` +
          `at most ${percents(mostOutflow)} is allowed`,
      )
  }
  return problems
}

function checkCashback({ cashback }: RewardRules): readonly string[] {
  const problems: string[] = []
  if (cashback.some(({ bps }) => !isWithin(bps, 1, mostCashback)))
    problems.push(`cashback: must be more than 0 and at most ${percents(mostCashback)} percent in every tier`)
  const froms = cashback.map(({ from }) => from)
  if (froms.some((from) => from < 0n) || new Set(froms).size < froms.length)
    problems.push('cashback: two tiers start at the same amount')
  const isRising = cashback
    .toSorted((one, other) => (one.from < other.from ? -1 : 1))
    .every(({ bps }, index, sorted) => bps >= (sorted[index - 1]?.bps ?? 0))
  if (!isRising) problems.push('cashback: a higher tier must not have a lower percentage')
  return problems
}

function checkRest({ rest, collectors }: RewardRules): readonly string[] {
  const problems: string[] = []
  if (collectors.length === 0) problems.push('collector: must be the wallet whose payments are shared')
  for (const wallet of collectors) if (!isWallet(wallet)) problems.push('collector: is not the address of a wallet')
  for (const role of restRoles) {
    const { wallet, weight } = rest[role]
    if (!isWallet(wallet)) problems.push(`${role}.wallet: is not the address of a wallet`)
    if (!isWithin(weight, 0, 1_000_000)) problems.push(`${role}.weight: must be a whole number from 0 to 1000000`)
  }
  if (restRoles.every((role) => rest[role].weight === 0))
    problems.push('treasury.weight: treasury, buyback or incentives must have a weight above 0')
  return problems
}

function checkPartners({ partners, collectors, rest, insiders }: RewardRules): readonly string[] {
  const problems: string[] = []
  const reserved = [...collectors, ...insiders, ...restRoles.map((role) => rest[role].wallet)]
  const names = partners.map(({ name }) => name)
  const endpoints = partners.flatMap((partner) => [...new Set(partner.endpoints.map(normalizeEndpoint))])
  if (new Set(names).size < names.length) problems.push('partners: a name appears twice')
  if (new Set(endpoints).size < endpoints.length) problems.push('partners: an endpoint can have only one partner')
  for (const { name, wallet, endpoints: own } of partners) {
    if (!/^[\w.-]{1,64}$/.test(name))
      problems.push('partners: a name must have 1 to 64 letters, digits, dots or dashes')
    if (!isWallet(wallet)) problems.push(`partners.${name}.wallet: is not the address of a wallet`)
    if (reserved.includes(wallet))
      problems.push(`partners.${name}.wallet: belongs to the operator, who cannot be a partner`)
    if (own.length === 0) problems.push(`partners.${name}.endpoints: must name an endpoint`)
    for (const endpoint of own)
      if (!isEndpoint(endpoint))
        problems.push(`partners.${name}.endpoints: ${endpoint} is not a path such as /api/weather or /api/*`)
  }
  return problems
}

function checkHosts({ hosts }: RewardRules): readonly string[] {
  return hosts.flatMap(({ endpoint, host }) => {
    if (!isEndpoint(endpoint)) return [`hosts: ${endpoint} is not a path such as /api/weather or /api/*`]
    return isHost(host) ? [] : [`hosts.${endpoint}: must be a host such as weather.example`]
  })
}

function isEndpoint(text: string): boolean {
  return /^\/[\x21-\x7e]{0,199}$/.test(text)
}

/** In the form of a URL: lower case, with a port only if it is not the default. */
function isHost(text: string): boolean {
  return parseUrl(`https://${text}/`)?.host === text
}

function isWallet(address: string): boolean {
  return decodeAddress(address) !== undefined && !isUnspendable(address)
}

function isWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most
}

function percents(bps: number): string {
  return String(bps / 100)
}
