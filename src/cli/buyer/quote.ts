/** `paystile quote`: the price of a resource, and whether the limits allow it. */
import { PaymentError } from '../../client/errors.ts'
import type { ClientOptions } from '../../client/options.ts'
import { checkChallenge, listCandidates, type PolicyOptions } from '../../client/policy.ts'
import { listPermitted } from '../../client/protocols/choose.ts'
import type { ForeignOffer } from '../../client/protocols/offer.ts'
import { formatUnits } from '../../core/money/money.ts'
import type { ByToken } from '../../core/money/tokens.ts'
import { readOffered } from '../../core/payment/allowance.ts'
import type { Challenge } from '../../core/protocol/challenge.ts'
import { createWallClock } from '../../host/clock.ts'
import { boughtText } from '../allowance-text.ts'
import { readWhole } from '../numbers.ts'
import { type ExitCode, exitCodes, paint, type Terminal, table } from '../output.ts'
import { nameFlags } from '../payment-errors.ts'
import { type BuyerOptions, readLimits, readRequest, readUrl } from '../payment-options.ts'
import { ask, unknownPayment } from './unpaid-request.ts'

/** The price of a resource, and the reason why the limits forbid it, if they do. */
export type Quote =
  | { readonly kind: 'unpriced'; readonly status: number }
  | { readonly kind: 'native'; readonly challenge: Challenge; readonly objection: string | undefined }
  | { readonly kind: 'foreign'; readonly offers: readonly QuotedOffer[] }

/** An offer in another protocol. */
interface QuotedOffer {
  readonly protocol: string
  readonly price: string
  readonly recipient: string
  readonly network: string
  readonly allowed: boolean
  readonly objection: string | undefined
}

/** Requests the resource without payment. The offers are in the order in which `pay` tries them. */
export async function readQuote(
  url: URL,
  request: RequestInit,
  timeoutMs: number,
  limits: PolicyOptions & Pick<ClientOptions, 'protocols'>,
): Promise<Quote> {
  const { response, challenge, offers } = await ask(url, request, timeoutMs, limits)
  await response.body?.cancel()
  if (challenge) {
    const objection = objectionTo(() => {
      const network = checkChallenge(challenge, url, limits, createWallClock().now())
      listCandidates(challenge, network, limits)
    })
    return { kind: 'native', challenge, objection }
  }
  if (offers.length === 0) return { kind: 'unpriced', status: response.status }
  return { kind: 'foreign', offers: offers.map((offer) => quoteOffer(offer, url, limits)) }
}

export async function quote(terminal: Terminal, address: string, options: BuyerOptions): Promise<ExitCode> {
  const url = readUrl(address)
  const seconds = readWhole('--timeout', options.timeout, 1, 3600) ?? 60
  const found = await readQuote(url, readRequest(options), seconds * 1000, readLimits(options))
  const chosen = (options.protocol ?? []).map((name) => ` --protocol ${name}`).join('')
  const hint = `Pay it with: npx paystile pay ${url.href}${chosen}`
  const isUnsure = options.network === undefined && isLocal(url)
  if (found.kind === 'foreign') return tellForeign(terminal, url, found.offers, { hint, isUnsure })
  if (found.kind === 'unpriced') {
    const { status } = found
    terminal.result({ ok: status < 400, status, challenge: null }, [`${status}: ${describeUnpriced(status)}.`])
    return status < 400 ? exitCodes.ok : exitCodes.status
  }
  const { challenge, objection } = found
  const bought = readOffered(challenge.allowance)
  const rows = [
    ['Price', listPrices(challenge).join('  or  ')],
    ...(bought ? [['Buys', boughtText(bought)]] : []),
    ...(challenge.description === undefined ? [] : [['For', challenge.description]]),
    ['Pay to', challenge.recipient],
    ...(challenge.splits ?? []).map(({ recipient, amounts }) => ['and', `${recipient}  (${formatAmounts(amounts)})`]),
    ['Network', challenge.network ?? 'unknown'],
    ['Protocol', 'paystile'],
    ['Until', challenge.expiresAt ?? 'unknown'],
    ['requestId', challenge.requestId],
    ['Limits', objection ?? 'allow it'],
  ]
  return terminal.result({ ok: true, status: 402, challenge, allowed: objection === undefined, objection }, [
    `${paint.yellow('402')} ${url.href}`,
    ...table(rows),
    '',
    hint,
  ])
}

export function describeUnpriced(status: number): string {
  if (status === 402) return unknownPayment
  return status < 400 ? 'it is free' : 'it requires no payment'
}

/** The price in each accepted token. A server can state amounts in others too, in which it takes no payment. */
export function listPrices({ acceptedMints, amounts, currency, amount }: Challenge): readonly string[] {
  return acceptedMints.flatMap((token) => {
    const price = amounts?.[token] ?? (token === currency ? amount : undefined)
    return price === undefined ? [] : [`${price} ${token}`]
  })
}

/** The part of another wallet, which is included in the price. */
function formatAmounts(amounts: ByToken<string>): string {
  return Object.entries(amounts)
    .map(([token, part]) => `${part} ${token} of the price`)
    .join('  or  ')
}

function quoteOffer(offer: ForeignOffer, url: URL, limits: PolicyOptions): QuotedOffer {
  const question = { url, options: limits, payer: undefined, hasHeader: () => false, now: createWallClock().now() }
  const { protocol, network, recipient, asset, units } = offer
  let price = `${units} base units of ${asset}`
  const objection = objectionTo(() => {
    for (const { candidate } of listPermitted([offer], { ...question, requestId: '' }))
      price = `${formatUnits(candidate.units, candidate.decimals)} ${candidate.token}`
  })
  return { protocol, price, recipient, network, allowed: objection === undefined, objection }
}

/** A localnet presents itself as devnet in other protocols, and it runs on this machine. */
function isLocal({ hostname }: URL): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

function tellForeign(
  terminal: Terminal,
  url: URL,
  offers: readonly QuotedOffer[],
  { hint, isUnsure }: { readonly hint: string; readonly isUnsure: boolean },
): ExitCode {
  const lines = offers.flatMap(({ protocol, price, recipient, network, objection }) => [
    ...table([
      ['Price', price],
      ['Pay to', recipient],
      ['Network', isUnsure && network === 'devnet' ? 'devnet, or a localnet with --network localnet' : network],
      ['Protocol', protocol],
      ['Limits', objection ?? 'allow it'],
    ]),
    '',
  ])
  return terminal.result({ ok: true, status: 402, challenge: null, offers }, [
    `${paint.yellow('402')} ${url.href}`,
    ...lines,
    hint,
  ])
}

function objectionTo(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof PaymentError) return nameFlags(error.message)
    throw error
  }
}
