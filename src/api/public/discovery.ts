/** Describes a service and its offers for programs and agents without prior knowledge of it. */
import { formatAllowance } from '../../core/checkout/languages/allowance-text.ts'
import { english } from '../../core/checkout/languages/language.ts'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { MintTable } from '../../core/money/tokens.ts'
import type { CatalogEntry } from '../../paywall/runtime/catalog.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { endpoints } from '../http/paths.ts'
import { readTestMode } from './test-mode.ts'

export interface DiscoveryParts {
  readonly service: Pick<Runtime, 'catalog' | 'config' | 'genesis' | 'identity'>
  readonly mints: () => MintTable
  readonly publicUrl: string | undefined
}

export function wellKnownDocument({ service, mints }: DiscoveryParts) {
  const entries = service.catalog.entries()
  const accepted = new Set(entries.flatMap(({ acceptedMints }) => acceptedMints))
  const tokens = Object.entries(mints()).filter(([code]) => accepted.has(code))
  const { verifyPayment, openapi, llms, payments, summary, signIn } = endpoints
  return {
    version: 1,
    service: service.config.service,
    network: service.config.network,
    ...readTestMode(service.config.network),
    genesis: service.genesis,
    identityKey: encodeBase58(service.identity.publicKey),
    recipients: listRecipients(entries),
    tokens: Object.fromEntries(tokens),
    endpoints: entries.map(formatOffer),
    urls: { verifyPayment, openapi, llms, analytics: payments, summary, signIn },
  }
}

export function listRecipients(entries: readonly CatalogEntry[]): readonly string[] {
  return [...new Set(entries.map(({ recipient }) => recipient))]
}

/** The published form of a catalog entry. */
export function formatOffer(entry: CatalogEntry) {
  const { methods, path, price, token, per, reopen, hasPage, acceptedMints, recipient, scope, description } = entry
  return {
    methods,
    path: path ?? null,
    price: price ?? null,
    token,
    per,
    // Only a browser that paid on the page can open its purchase again.
    ...(reopen && hasPage && { reopenSeconds: Number(reopen.amount) }),
    acceptedMints,
    recipient,
    scope,
    ...(description !== undefined && { description }),
  }
}

/** For language models: the offers and the way to pay, on one page. */
export function llmsText({ service, publicUrl }: DiscoveryParts): string {
  const { network } = service.config
  const entries = service.catalog.entries()
  const lines = entries.map((entry) => {
    const what = entry.path === undefined ? 'resources of this service' : `${entry.methods.join(', ')} ${entry.path}`
    const about = entry.description === undefined ? '' : ` ${oneLine(entry.description)}`
    return `- ${what}: ${priceText(entry)}, paid in ${entry.acceptedMints.join(' or ')}.${about}`
  })
  return `# Paid HTTP API${publicUrl === undefined ? '' : ` at ${publicUrl}`}

> Each request is paid on Solana (${network}). You need a wallet, but no account and no API key.

## Paid resources

${lines.length === 0 ? '- None at the moment.' : lines.join('\n')}

## How to pay

1. Send the request. The response is 402 with JSON: requestId, recipient, amounts, mints, expiresAt.
2. Send amounts[token] of one accepted token to recipient on ${network}, with a memo that equals requestId.
3. Send the same request again with the header Payment-Proof: tx=<signature>; requestId=<requestId>; payer=<address>.
   An allowance for more than one request also needs sig= or claim=; see instructions in the 402 response.
4. The response with status 200 is the resource. If "retryable" is true, send the same proof again. Never pay twice for one requestId.
5. In JavaScript the npm package paystile does all of this: await fetchWith402(url, { wallet, tokens })

## More

- ${endpoints.openapi}: every endpoint with its price
- ${endpoints.wellKnown}: network, genesis hash, keys, token mints
- POST ${endpoints.verifyPayment}: checks a payment without using it
`
}

function priceText({ price, token, per }: CatalogEntry): string {
  const amount = price === undefined ? `a price in ${token} that depends on the request` : `${price} ${token}`
  if (per.unit === 'request') return `${amount} per ${per.amount === 1 ? 'request' : `${per.amount} requests`}`
  if (per.unit === 'second')
    return `${amount} per ${formatAllowance({ unit: 'second', amount: BigInt(per.amount) }, english)}`
  return `${amount} per megabyte`
}

/** Prevents a description from imitating a line of the page. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
