/** What holds of sharing out for any payments, rates, rules and order. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { encodeBase58 } from '../encoding/base58.ts'
import type { KnownCode } from '../money/tokens.ts'
import { checkRules, developerRange, mostCashback, mostOutflow, partnerRange } from './reward-rules.ts'
import { type Earning, formatRules, parseRules, payable, type RewardRules, type Sharing, shareOut } from './rewards.ts'

const cases = size(500, 20_000)
const wallet = (number: number) => encodeBase58(new Uint8Array(32).fill(number))
const [collector, partner, treasury, buyback, incentives, developer] = [1, 2, 3, 4, 5, 6].map(wallet) as [
  string,
  string,
  string,
  string,
  string,
  string,
]
const nameOf = (address: string) => `hash of ${address}`
const decimals = { NATIVE: 9, USDC: 6, SOL: 9 }

const bps = (least: number, most: number) => fc.integer({ min: least, max: most })
const rulesOf = fc
  .record({
    partnerBps: bps(partnerRange.least, partnerRange.most),
    developerBps: fc.oneof(fc.constant(0), bps(developerRange.least, developerRange.most)),
    tiers: fc.uniqueArray(fc.record({ from: fc.bigInt({ min: 0n, max: 10n ** 15n }), bps: bps(1, mostCashback) }), {
      selector: ({ from }) => from,
      maxLength: 4,
    }),
    weights: fc.tuple(bps(0, 100), bps(0, 100), bps(1, 100)),
    withoutPartner: fc.boolean(),
  })
  .map(({ partnerBps, developerBps, tiers, weights, withoutPartner }): RewardRules => {
    const sorted = tiers.toSorted((one, other) => (one.from < other.from ? -1 : 1))
    const shares = sorted.map((tier) => tier.bps).toSorted((one, other) => one - other)
    return {
      collectors: [collector],
      partners: [{ name: 'acme', wallet: partner, bps: partnerBps, endpoints: ['/partner'] }],
      developerBps,
      cashback: sorted.map(({ from }, index) => ({ from, bps: shares[index] ?? 1 })),
      rest: {
        treasury: { wallet: treasury, weight: weights[0] },
        buyback: { wallet: buyback, weight: weights[1] },
        incentives: { wallet: incentives, weight: weights[2] },
      },
      withoutPartner,
      hosts: [{ endpoint: '/partner', host: 'api.example' }],
      insiders: [],
    }
  })
  .filter((rules) => checkRules(rules).length === 0)

const token = fc.constantFrom<KnownCode>('NATIVE', 'USDC', 'SOL')
/** In units of 10⁻¹², as they are told: plain decimals. */
const rate = fc.bigInt({ min: 1_000_000n, max: 10n ** 15n })
const table = fc.record({ NATIVE: rate, SOL: rate }).map(({ NATIVE, SOL }) => ({ NATIVE, USDC: 10n ** 12n, SOL }))
type Rates = { readonly NATIVE: bigint; readonly USDC: bigint; readonly SOL: bigint }
const plain = (value: bigint) => `${value / 10n ** 12n}.${(value % 10n ** 12n).toString().padStart(12, '0')}`
const frozen = (rates: Rates) => ({
  table: { NATIVE: plain(rates.NATIVE), USDC: plain(rates.USDC), SOL: plain(rates.SOL) },
  source: 'fixed',
  at: 0,
  decimals,
})

const earningOf = fc
  .record({
    token,
    units: fc.bigInt({ min: 0n, max: 10n ** 13n }),
    table,
    spent: fc.bigInt({ min: 0n, max: 10n ** 15n }),
    endpoint: fc.constantFrom('/partner', '/own'),
    payer: fc.constantFrom('somebody', nameOf(partner), nameOf(developer)),
    isVerified: fc.boolean(),
    parts: fc.array(fc.bigInt({ min: 1n, max: 30n }), { maxLength: 3 }),
  })
  .map(({ table: rates, isVerified, parts, ...rest }): Earning => {
    const collected = parts.map((percent, index) => ({
      recipient: `split-${index}`,
      units: (rest.units * percent) / 100n,
    }))
    return {
      ...rest,
      collected,
      recipient: collector,
      rates: frozen(rates),
      developer: isVerified ? developer : undefined,
    }
  })

const sumOf = (sharing: Sharing) =>
  sharing.kind === 'shared' ? sharing.shares.reduce((sum, { units }) => sum + units, 0n) : 0n

describe('sharing out', () => {
  it('adds up to the base unit, owes no negative amount, and gives the same result when repeated', () => {
    fc.assert(
      fc.property(rulesOf, earningOf, (rules, earning) => {
        const sharing = shareOut(rules, earning, nameOf)
        const again = shareOut(parseRules(formatRules(rules).text), structuredClone(earning), nameOf)
        expect(again).toEqual(sharing)
        if (sharing.kind !== 'shared') return
        expect(sumOf(sharing) + sharing.kept).toBe(sharing.whole)
        expect(sharing.shares.every(({ units }) => units > 0n) && sharing.kept >= 0n).toBe(true)
        const roles = sharing.shares.flatMap(({ role }) => (role === 'split' ? [] : [role]))
        expect(new Set(roles).size).toBe(roles.length)
      }),
      { numRuns: cases },
    )
  })
  it('T153: leaves no profit for one owner of payer, partner and developer, at any rates', () => {
    const fee = 5_000n
    const moved = (value: bigint, percent: number) => (value * BigInt(100 + percent)) / 100n
    const move = fc.integer({ min: -50, max: 50 })
    const payments = fc.array(
      fc.record({ token, units: fc.bigInt({ min: 1n, max: 10n ** 12n }), native: move, sol: move, payout: move }),
      { minLength: 1, maxLength: 6 },
    )
    fc.assert(
      fc.property(rulesOf, table, payments, (rules, start, made) => {
        let rates: Rates = start
        let [spent, given, got] = [0n, 0n, 0n]
        for (const { token: paid, units, native, sol, payout } of made) {
          rates = { ...rates, NATIVE: moved(rates.NATIVE, native), SOL: moved(rates.SOL, sol) }
          fc.pre(rates.NATIVE > 0n && rates.SOL > 0n)
          const worth = (units * rates[paid] * 10n ** 12n) / 10n ** BigInt(decimals[paid])
          given += worth + (fee * rates.SOL * 10n ** 12n) / 10n ** 9n
          const earning = {
            recipient: collector,
            payer: 'one wallet of many',
            endpoint: '/partner',
            token: paid,
            units,
            collected: [],
            rates: frozen(rates),
            spent,
            developer,
          }
          const sharing = shareOut(rules, earning, nameOf)
          if (sharing.kind !== 'shared') continue
          spent += sharing.worth
          const own = sharing.shares.filter(({ role }) => ['partner', 'developer', 'cashback'].includes(role))
          const later = moved(rates.NATIVE, payout)
          fc.pre(later > 0n)
          const paidOut = own.reduce(
            (sum, share) => sum + payable([{ units: share.units, rate: sharing.rate }], later),
            0n,
          )
          got += (paidOut * later * 10n ** 12n) / 10n ** 9n
        }
        expect(got).toBeLessThan(given)
      }),
      { numRuns: size(200, 5_000) },
    )
  })
  it('never gives out more than the rules may', () => {
    fc.assert(
      fc.property(rulesOf, earningOf, (rules, earning) => {
        const sharing = shareOut(rules, { ...earning, payer: 'somebody', endpoint: '/partner' }, nameOf)
        if (sharing.kind !== 'shared') return
        const out = sharing.shares.filter(({ role }) => ['partner', 'developer', 'cashback'].includes(role))
        const given = out.reduce((sum, { units }) => sum + units, 0n)
        // A share is rounded by less than one base unit.
        expect(given * 10_000n).toBeLessThanOrEqual(sharing.whole * BigInt(mostOutflow) + 30_000n)
      }),
      { numRuns: size(200, 5_000) },
    )
  })
})
