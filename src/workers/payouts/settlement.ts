/**
 * Converts a wallet's income into its owner's settlement token, through a venue, once a threshold is reached.
 *
 * A conversion holds the lock key of its wallet and token from before it is signed until it has landed or can no longer
 * land (`outgoing-transactions.ts`). The worker can therefore run in several processes and crash at any line, and a
 * balance is converted once.
 */
import { formatUnits } from '../../core/money/money.ts'
import { decimalsIn, fairUnits, type RateTable } from '../../core/money/rates.ts'
import { findDecimals, findMint, listTokens, type MintTable, type TokenCode } from '../../core/money/tokens.ts'
import { computeGain, type Effect } from '../../core/payment/verify.ts'
import {
  type ConversionAbout,
  type ConversionRules,
  dueConversions,
  formatConversion,
  formatConversionLockKey,
  judgeQuote,
  parseConversion,
  settlementBeats,
} from '../../core/payouts/conversion.ts'
import { formatMemo } from '../../core/payouts/outgoing-memo.ts'
import type { OutgoingWallet } from '../../core/payouts/outgoing-wallet.ts'
import type { OutgoingTransaction, OutgoingTransactions } from '../../core/payouts/ports/outgoing.ts'
import type { Venue, VenueQuote } from '../../core/payouts/venue.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'
import { isTimeSure, type Loop, startLoop } from '../loop.ts'
import { createThrottledLog } from '../throttled-log.ts'
import type { OutgoingTransactionParts, OutgoingTransactionPlan, SigningResult, Step } from './outgoing-transactions.ts'
import { advance, alone, createTransactionId, readOpen } from './outgoing-transactions.ts'
import { signUnlessPaused } from './pause.ts'

/** One wallet, and the rules for converting its income. */
export interface Converter {
  readonly outgoingWallet: Pick<OutgoingWallet, 'wallet' | 'holdings' | 'send' | 'readOutcome' | 'read'>
  readonly venue: Venue
  readonly rules: ConversionRules
  readonly mints: MintTable
  /** Whether the ledger books the token under this mint, so that its decimals are certain. */
  readonly isConfirmed: (token: TokenCode) => Promise<boolean>
  /** The current fresh rates. */
  readonly rates: () => RateTable
}

export interface SettlementParts extends Omit<OutgoingTransactionParts, 'outgoingWallet'> {
  readonly outgoing: OutgoingTransactions
  /** The key-value store for its heartbeat. */
  readonly kv: KeyValueStore
  readonly converters: readonly Converter[]
  /** No new conversions start while this is true. Signed ones are still followed. */
  readonly isPaused: () => Promise<boolean>
  readonly clock: Clock
  /** Called once for each completed conversion. */
  readonly onConverted?: (transaction: OutgoingTransaction, about: ConversionAbout) => void
}

const everyMs = 3_000
const mostAttempts = 5
/**
 * A conversion without an acceptable quote for this long is dropped, and planned again from the balance at that time.
 */
const patienceMs = 600_000
const [firstRestMs, longestRestMs] = [60_000, 3_600_000]
const [beatMs, beatLastsMs] = [30_000, 90_000]

/** Runs the settlement repeatedly. */
export function startSettlement(parts: SettlementParts): Loop {
  return startLoop({ name: 'settlement', everyMs, work: createSettlement(parts), log: parts.log, leads: parts.leads })
}

/** One turn: takes the next step of all open conversions, and starts those that are due. */
export function createSettlement(given: SettlementParts): () => Promise<void> {
  const parts: SettlementParts = { ...given, log: createThrottledLog(given.log, given.clock) }
  const rests: Rests = new Map()
  return async () => {
    const open = await readOpen('conversion', parts)
    for (const converter of parts.converters) {
      await alone(parts.log, { kind: 'conversion', wallet: converter.outgoingWallet.wallet }, async () => {
        await beat(parts, converter)
        if (isTimeSure(parts.clockCheck)) await serve(parts, converter, open, rests)
      })
    }
  }
}

/** By lock key, the end and the length of the current delay after a failure. */
type Rests = Map<string, { readonly until: number; readonly ms: number }>

/** Announces in the ledger's key-value store that a worker converts this wallet's income. */
async function beat({ kv, clock }: SettlementParts, { outgoingWallet }: Converter): Promise<void> {
  const now = clock.now()
  await kv.put(`${settlementBeats(outgoingWallet.wallet)}${Math.floor(now / beatMs)}`, '1', now + beatLastsMs)
}

async function serve(
  parts: SettlementParts,
  converter: Converter,
  open: readonly OutgoingTransaction[],
  rests: Rests,
): Promise<void> {
  const { outgoingWallet, rules, mints } = converter
  const isPaused = await parts.isPaused()
  const tokens = await listConfirmed(converter)
  const underway = new Set<TokenCode>()
  for (const token of tokens) {
    const key = formatConversionLockKey(outgoingWallet.wallet, token)
    for (const transaction of open) {
      if (transaction.lockKey !== key) continue
      // Includes a conversion that has just landed, because a lagging node may still report the old balance.
      underway.add(token)
      if (!isPaused || transaction.state === 'signed') await step(parts, converter, transaction, rests)
    }
  }
  if (isPaused) return
  const codes = tokens.filter((token) => findMint(token, mints) !== undefined)
  const holdings = await outgoingWallet.holdings(codes.flatMap((token) => findMint(token, mints) ?? []))
  if (!holdings) return
  const balances = Object.fromEntries(codes.map((token, index) => [token, holdings.units[index] ?? 0n]))
  const scene = { rates: converter.rates(), decimals: decimalsIn(mints), underway }
  const now = parts.clock.now()
  for (const { token, units } of dueConversions(rules, {
    ...scene,
    balances: { ...balances, SOL: holdings.lamports },
  })) {
    if ((rests.get(formatConversionLockKey(outgoingWallet.wallet, token))?.until ?? 0) > now) continue
    await begin(parts, converter, token, units, rests)
  }
}

/** The tokens that can be converted. Without a confirmed settlement token there are none. */
async function listConfirmed({ rules, mints, isConfirmed }: Converter): Promise<readonly TokenCode[]> {
  if (!(await isConfirmed(rules.settlementToken))) return []
  const tokens: TokenCode[] = []
  for (const token of listTokens(mints)) if (await isConfirmed(token)) tokens.push(token)
  return tokens
}

/** Asks for a quote before anything is reserved, so that an unacceptable one leaves no trace. */
async function begin(parts: SettlementParts, converter: Converter, token: TokenCode, units: bigint, rests: Rests) {
  const { outgoingWallet, venue, rules } = converter
  const key = formatConversionLockKey(outgoingWallet.wallet, token)
  const offer = await seek(converter, token, units)
  if (offer.kind !== 'offer') {
    parts.log.warn('conversion.waiting', { wallet: outgoingWallet.wallet, token, why: offer.why })
    return rest(parts, rests, key)
  }
  const about: ConversionAbout = {
    wallet: outgoingWallet.wallet,
    sell: token,
    buy: rules.settlementToken,
    venue: venue.name,
    units,
    quoted: offer.quote.units,
    minimum: offer.minimum,
  }
  const plan = {
    id: createTransactionId(parts.sealer, 'conversion'),
    kind: 'conversion' as const,
    lockKey: key,
    about: formatConversion(about),
    lines: [],
  }
  // Conversions may have been paused while the venue prepared the quote.
  if (await parts.isPaused()) return
  const planning = await parts.outgoing.plan(plan)
  if (planning.kind === 'planned') await step(parts, converter, planning.transaction, rests, offer.quote)
}

type Offer =
  | { readonly kind: 'offer'; readonly quote: VenueQuote; readonly minimum: bigint }
  | { readonly kind: 'none'; readonly why: string }

async function seek(converter: Converter, token: TokenCode, units: bigint): Promise<Offer> {
  const { venue, rules, mints } = converter
  const { settlementToken, slippageBps } = rules
  const order = { sell: findMint(token, mints), buy: findMint(settlementToken, mints), units, slippageBps }
  const quoting = await venue.quote(order)
  return quoting.kind === 'quoted' ? judge(converter, token, quoting.quote) : { kind: 'none', why: quoting.why }
}

function judge({ rules, mints, rates }: Converter, token: TokenCode, quote: VenueQuote): Offer {
  const { units } = quote.order
  const scene = { rates: rates(), decimals: decimalsIn(mints) }
  const pricing = judgeQuote(quote, fairUnits({ token, units }, rules.settlementToken, scene), rules)
  if (pricing.kind === 'unfair') return { kind: 'none', why: `the quote is refused: ${pricing.why}` }
  return { kind: 'offer', quote, minimum: pricing.minimum }
}

async function step(
  parts: SettlementParts,
  converter: Converter,
  transaction: OutgoingTransaction,
  rests: Rests,
  quote?: VenueQuote,
): Promise<void> {
  const { outgoingWallet } = converter
  const plan: OutgoingTransactionPlan = {
    sign: (one) => signUnlessPaused(parts.isPaused, () => sign(parts, converter, one, quote)),
    result: (one, effect) => readResult(converter, one, effect),
    mostAttempts,
  }
  const taken: Step = await advance(transaction, plan, { ...parts, outgoingWallet })
  if (taken.kind === 'dropped') rest(parts, rests, transaction.lockKey)
  if (taken.kind !== 'landed') return
  rests.delete(transaction.lockKey)
  const about = parseConversion(taken.transaction.about)
  if (about) tell(parts, converter, taken.transaction, about)
}

async function sign(
  { clock }: SettlementParts,
  converter: Converter,
  transaction: OutgoingTransaction,
  atHand: VenueQuote | undefined,
): Promise<SigningResult> {
  const { venue, rules, outgoingWallet, mints } = converter
  const about = parseConversion(transaction.about)
  if (!about || about.wallet !== outgoingWallet.wallet)
    return { kind: 'impossible', why: 'its stored details cannot be read' }
  if (about.buy !== rules.settlementToken) return { kind: 'impossible', why: 'the settlement token has changed' }
  const { sell, units } = about
  const mint = findMint(sell, mints)
  const holdings = await outgoingWallet.holdings(mint ? [mint] : [])
  if (!holdings) return { kind: 'unavailable', why: 'no node returned the balance of the wallet' }
  const held = (mint ? (holdings.units[0] ?? 0n) : holdings.lamports) - (rules.keeps[sell] ?? 0n)
  if (held < units) return { kind: 'impossible', why: "the wallet's balance is too low by now" }
  const known = atHand && judge(converter, sell, atHand)
  const offer = known?.kind === 'offer' ? known : await seek(converter, sell, units)
  if (offer.kind === 'none') {
    const isHopeless = clock.now() - transaction.changedAt > patienceMs
    return { kind: isHopeless ? 'impossible' : 'unavailable', why: offer.why }
  }
  const { quote, minimum } = offer
  const signing = await venue.sign(quote, { memo: formatMemo(transaction.id), minimum })
  if (signing.kind !== 'signed') return signing
  return { ...signing, about: formatConversion({ ...about, venue: venue.name, quoted: quote.units, minimum }) }
}

/** Reads the amounts that actually left and arrived from the chain, regardless of the quote. */
function readResult({ outgoingWallet, mints }: Converter, transaction: OutgoingTransaction, effect: Effect) {
  const about = parseConversion(transaction.about)
  if (!about) return undefined
  const gain = (token: TokenCode) =>
    computeGain(effect, outgoingWallet.wallet, findMint(token, mints)?.address ?? 'SOL')
  return formatConversion({ ...about, sold: -gain(about.sell), received: gain(about.buy) })
}

function tell(
  parts: SettlementParts,
  { mints }: Converter,
  transaction: OutgoingTransaction,
  about: ConversionAbout,
): void {
  const { wallet, sell, buy, sold = 0n, quoted, received = 0n } = about
  const text = (token: TokenCode, units: bigint) => `${formatUnits(units, findDecimals(token, mints) ?? 0)} ${token}`
  const facts = { wallet, tx: transaction.signed?.signature, sold: text(sell, sold), quoted: text(buy, quoted) }
  parts.log.info('conversion.completed', { ...facts, received: text(buy, received) })
  parts.onConverted?.(transaction, about)
}

/** Delays the next attempt after a failure, longer each time. */
function rest({ clock }: SettlementParts, rests: Rests, key: string): void {
  const before = rests.get(key)?.ms
  const ms = before === undefined ? firstRestMs : Math.min(2 * before, longestRestMs)
  rests.set(key, { until: clock.now() + ms, ms })
}
