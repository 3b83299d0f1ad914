/**
 * Servers of MPP, method `solana`, intent `charge`. The client signs the transaction and submits it with the request (pull
 * mode). It echoes the challenge untouched.
 */
import { decodeAddress } from '../../core/encoding/base58.ts'
import { decodeBase64urlPadded, encodeBase64 } from '../../core/encoding/base64.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { asciiJson } from '../../core/http/http.ts'
import { knownMints, type Network } from '../../core/money/tokens.ts'
import { parseJsonObject } from '../../core/protocol/credential.ts'
import { mppChallengeHeader } from '../../core/protocol/mpp.ts'
import {
  createVariation,
  type ForeignOffer,
  readDescription,
  readText,
  readTx,
  readUnits,
  type Split,
} from './offer.ts'

const longestHeader = 65_536
const mostChallenges = 20
const mostSplits = 8
const longestMemoBytes = 566
/** The limit of the reference client, and the highest that its server accepts. */
const mostUnits = 200_000

/** The offers in `WWW-Authenticate`. Challenges of other methods and intents are left out. */
export function readMppOffers(headers: Headers, wanted: Network | undefined): readonly ForeignOffer[] {
  const header = headers.get(mppChallengeHeader)
  if (header === null || header.length > longestHeader) return []
  return readChallenges(header)
    .slice(0, mostChallenges)
    .flatMap((challenge) => readCharge(challenge, wanted) ?? [])
}

type AuthParameters = Readonly<Record<string, string>>

/** One parameter of a challenge, after the name of its scheme if it is the first. */
const parameter =
  /\s*(?:(?<scheme>[\w!#$%&'*+.^`|~-]+)[ \t]+)?(?<name>[\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<bare>[^\s,"]+))[ \t]*(?:,|$)/y
/** A part of the header that is no parameter, such as a scheme alone. */
const otherPart = /[^,"]*(?:"(?:[^"\\]|\\.)*"?[^,"]*)*(?:,|$)/y

/** The challenges with the scheme `Payment`. Other schemes can stand before, between and after them. */
function readChallenges(header: string): readonly AuthParameters[] {
  const found: Record<string, string>[] = []
  let current: Record<string, string> | undefined
  for (let at = 0; at < header.length; ) {
    parameter.lastIndex = at
    const groups = parameter.exec(header)?.groups
    const end = groups ? parameter.lastIndex : skip(header, at)
    if (groups?.['scheme'] !== undefined) {
      current = groups['scheme'].toLowerCase() === 'payment' ? {} : undefined
      if (current) found.push(current)
    }
    const name = groups?.['name']?.toLowerCase()
    if (!groups) current = undefined
    else if (current && name !== undefined) {
      // Readers of the header could disagree about a repeated name.
      const value = groups['bare'] ?? (groups['quoted'] ?? '').replaceAll(/\\(.)/g, '$1')
      if (name in current) found.splice(found.indexOf(current), 1)
      else current[name] = value
    }
    at = end
  }
  return found
}

function skip(header: string, at: number): number {
  otherPart.lastIndex = at
  otherPart.exec(header)
  return Math.max(otherPart.lastIndex, at + 1)
}

const echoed = ['id', 'realm', 'method', 'intent', 'request', 'expires', 'description', 'digest', 'opaque', 'header']

function readCharge(challenge: AuthParameters, wanted: Network | undefined): ForeignOffer | undefined {
  if (challenge['method'] !== 'solana' || challenge['intent'] !== 'charge') return undefined
  const request = parseJsonObject(decodeBase64urlPadded(challenge['request'] ?? ''))
  const details = isFields(request?.['methodDetails']) ? request['methodDetails'] : {}
  const network = findNetwork(details['network'], wanted)
  if (!request || network === undefined) return undefined
  const { recipient, currency, amount, externalId, description } = request
  const units = readUnits(amount)
  const splits = readSplits(details['splits'])
  const asset = readAsset(currency, network)
  const memo = readText(externalId)
  const { feePayer, feePayerKey, decimals, tokenProgram } = details
  if (units === undefined || !splits || asset === undefined || !isAddress(recipient) || !isMemo(memo)) return undefined
  if (feePayer === true && !isAddress(feePayerKey)) return undefined
  const expiresAt = challenge['expires'] === undefined ? undefined : Date.parse(challenge['expires'])
  if (Number.isNaN(expiresAt)) return undefined
  const header = challenge['header'] ?? 'Authorization'
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header)) return undefined
  // Servers refuse a memo of the client, and can give the same memo to every payment.
  const variation = createVariation()
  return {
    protocol: 'mpp',
    network,
    recipient,
    asset,
    decimals: typeof decimals === 'number' ? decimals : undefined,
    tokenProgram: readText(tokenProgram),
    units,
    splits,
    feePayer: feePayer === true ? String(feePayerKey) : undefined,
    memo,
    computeUnits: mostUnits - variation.units,
    microLamports: variation.microLamports,
    description: readDescription(description) ?? readDescription(challenge['description']),
    expiresAt,
    credential: (transaction) => {
      const copy = Object.fromEntries(echoed.filter((name) => name in challenge).map((name) => [name, challenge[name]]))
      const json = asciiJson({ challenge: copy, payload: { type: 'transaction', transaction } })
      return { header, value: `Payment ${encodeBase64(json, 'url')}` }
    },
  }
}

/** Drafts of the protocol differ in the name of mainnet. A localnet counts only if the caller says so. */
function findNetwork(name: unknown, wanted: Network | undefined): Network | undefined {
  if (name === undefined || name === 'mainnet' || name === 'mainnet-beta') return 'mainnet'
  if (name === 'localnet') return 'localnet'
  if (name !== 'devnet') return undefined
  return wanted === 'localnet' ? 'localnet' : 'devnet'
}

function readAsset(currency: unknown, network: Network): string | undefined {
  if (currency === 'sol' || currency === 'SOL') return 'SOL'
  if (currency === 'USDC') return knownMints[network].USDC?.address
  return isAddress(currency) ? currency : undefined
}

function readSplits(value: unknown): readonly Split[] | undefined {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > mostSplits) return undefined
  const splits = value.flatMap((split: unknown) => {
    const units = isFields(split) ? readUnits(split['amount']) : undefined
    if (!isFields(split) || units === undefined || !isAddress(split['recipient'])) return []
    const memo = readText(split['memo'])
    // The owner of a new account could close it and keep its rent, which would be a hidden surcharge.
    return isMemo(memo) && split['ataCreationRequired'] !== true ? { recipient: split['recipient'], units, memo } : []
  })
  return splits.length === value.length ? splits : undefined
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && decodeAddress(value) !== undefined
}

function isMemo(memo: string | undefined): boolean {
  return memo === undefined || new TextEncoder().encode(memo).length <= longestMemoBytes
}

/** The transaction in the server's receipt. It is the server's own word. */
export function readMppReceipt(headers: Headers): string | undefined {
  const header = headers.get('Payment-Receipt')
  if (header === null || header.length > longestHeader) return undefined
  return readTx(parseJsonObject(decodeBase64urlPadded(header))?.['reference'])
}
