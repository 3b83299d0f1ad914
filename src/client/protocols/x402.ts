/**
 * Servers of x402, scheme `exact` on Solana: version 2 with its headers, and version 1 with its body.
 *
 * The client signs a transfer with the server's fee payer, and submits it with the request. It echoes the accepted entry
 * untouched.
 */
import { decodeAddress } from '../../core/encoding/base58.ts'
import { decodeBase64, encodeBase64 } from '../../core/encoding/base64.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { asciiJson } from '../../core/http/http.ts'
import type { Network } from '../../core/money/tokens.ts'
import { parseJsonObject } from '../../core/protocol/credential.ts'
import { x402Networks, x402RequiredHeader, x402ResponseHeader, x402SignatureHeader } from '../../core/protocol/x402.ts'
import { x402V1Networks, x402V1PaymentHeader, x402V1ResponseHeader } from '../../core/protocol/x402-v1.ts'
import {
  createVariation,
  type ForeignOffer,
  noVariation,
  readDescription,
  readText,
  readTx,
  readUnits,
} from './offer.ts'

const longestHeader = 65_536
const mostEntries = 20
const longestMemoBytes = 256
/** The limit of the reference clients. Facilitators accept it, and a long memo needs more. */
const usualUnits = 20_000
const mostUnits = 60_000

/** The offers in `PAYMENT-REQUIRED`. Entries of other chains and schemes are left out. */
export function readX402Offers(headers: Headers, wanted: Network | undefined): readonly ForeignOffer[] {
  const header = headers.get(x402RequiredHeader)
  if (header === null || header.length > longestHeader) return []
  const required = parseJsonObject(decodeBase64(header))
  if (required?.['x402Version'] !== 2 || !Array.isArray(required['accepts'])) return []
  const { resource, extensions } = required
  const description = isFields(resource) ? readDescription(resource['description']) : undefined
  return required['accepts'].slice(0, mostEntries).flatMap((accepted: unknown): ForeignOffer | readonly [] => {
    const network = isFields(accepted) ? findNetwork(accepted['network'], x402Networks, wanted) : undefined
    if (!isFields(accepted) || network === undefined) return []
    const offer = readEntry(accepted, accepted['amount'], network, createNonce())
    if (!offer) return []
    const echoed = { ...(resource !== undefined && { resource }), ...(extensions !== undefined && { extensions }) }
    return {
      ...offer,
      protocol: 'x402',
      description,
      credential: (transaction) => ({
        header: x402SignatureHeader,
        value: toBase64({ x402Version: 2, payload: { transaction }, ...echoed, accepted }),
      }),
    }
  })
}

/** The offers in the body of a 402 of version 1. */
export function readX402V1Offers(body: unknown, wanted: Network | undefined): readonly ForeignOffer[] {
  if (!isFields(body) || body['x402Version'] !== 1 || !Array.isArray(body['accepts'])) return []
  return body['accepts'].slice(0, mostEntries).flatMap((accepted: unknown): ForeignOffer | readonly [] => {
    if (!isFields(accepted)) return []
    // Servers that translate version 2, such as Faremeter's, keep its names of networks, and its facilitators want a memo.
    const translated = findNetwork(accepted['network'], x402Networks, wanted)
    const network = translated ?? findNetwork(accepted['network'], x402V1Networks, wanted)
    if (network === undefined) return []
    const offer = readEntry(accepted, accepted['maxAmountRequired'], network, translated && createNonce())
    if (!offer) return []
    return {
      ...offer,
      protocol: 'x402-v1',
      description: readDescription(accepted['description']),
      credential: (transaction) => ({
        header: x402V1PaymentHeader,
        value: toBase64({ x402Version: 1, scheme: 'exact', network: accepted['network'], payload: { transaction } }),
      }),
    }
  })
}

/** A memo that makes equal payments different transactions. */
function createNonce(): string {
  return crypto.randomUUID().replaceAll('-', '')
}

/** A localnet presents itself as devnet. It counts as a localnet only if the caller says so. */
function findNetwork(id: unknown, names: Readonly<Record<Network, string>>, wanted: Network | undefined) {
  if (id === names.mainnet) return 'mainnet'
  if (id !== names.devnet) return undefined
  return wanted === 'localnet' ? 'localnet' : 'devnet'
}

type Entry = Omit<ForeignOffer, 'protocol' | 'description' | 'credential'>

function readEntry(
  accepted: Readonly<Record<string, unknown>>,
  amount: unknown,
  network: Network,
  nonce: string | undefined,
): Entry | undefined {
  const { scheme, asset, payTo, extra } = accepted
  const details = isFields(extra) ? extra : {}
  const units = readUnits(amount)
  const feePayer = readText(details['feePayer'])
  const memo = readText(details['memo']) ?? nonce
  const bytes = memo === undefined ? 0 : new TextEncoder().encode(memo).length
  // A server can refuse a memo (old ones of version 1), and it can give the same memo to every payment.
  const variation = memo === undefined || memo !== nonce ? createVariation() : noVariation
  if (scheme !== 'exact' || units === undefined || bytes > longestMemoBytes) return undefined
  if (![asset, payTo, feePayer].every((one) => typeof one === 'string' && decodeAddress(one) !== undefined))
    return undefined
  return {
    network,
    recipient: String(payTo),
    asset: String(asset),
    decimals: undefined,
    tokenProgram: undefined,
    units,
    splits: [],
    feePayer,
    memo,
    computeUnits: Math.min(Math.max(usualUnits, 8_000 + 400 * bytes), mostUnits) + variation.units,
    microLamports: variation.microLamports,
    expiresAt: undefined,
  }
}

function toBase64(value: unknown): string {
  return encodeBase64(asciiJson(value), 'standard')
}

/** The transaction and the error in the server's report on the payment. The error is its own words. */
export function readX402Report(headers: Headers): { readonly tx?: string; readonly error?: string } {
  const header = headers.get(x402ResponseHeader) ?? headers.get(x402V1ResponseHeader) ?? headers.get(x402RequiredHeader)
  const report = header === null || header.length > longestHeader ? undefined : parseJsonObject(decodeBase64(header))
  const [tx, error] = [readTx(report?.['transaction']), readText(report?.['errorReason'] ?? report?.['error'])]
  return { ...(tx !== undefined && { tx }), ...(error !== undefined && { error }) }
}
