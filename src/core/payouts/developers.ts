/**
 * How a developer shows that a host and a wallet belong together: the wallet signs a text, and the host has a document that
 * names the wallet. `docs/developers.md` fixes both. Neither alone is worth anything.
 */
import { decodeAddress } from '../encoding/base58.ts'
import { isLocalName } from '../encoding/http.ts'
import type { Network } from '../money/tokens.ts'
import type { Verification } from './ports/rewards.ts'

export const developerDocumentPath = '/.well-known/paystile-developer.json'

/** How long a verification holds after the document was last seen to name the wallet. */
export const verificationDays = 30
export const dayMs = 86_400_000

/** `register`: the rewards of the host are for this wallet. `revoke`: they no longer are. */
export type DeveloperPurpose = 'register' | 'revoke'

const statements: Readonly<Record<DeveloperPurpose, string>> = {
  register: 'paystile: I own this host and want its rewards paid to this wallet.',
  revoke: 'paystile: I want no more rewards of this host paid to this wallet.',
}

export interface DeveloperText {
  readonly purpose: DeveloperPurpose
  /** The host whose rewards it is about. */
  readonly host: string
  readonly wallet: string
  /** Of the service that pays them: `https://api.example.com`. */
  readonly origin: string
  /** The genesis hash of the chain that they are paid on. */
  readonly genesis: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
}

/** Whoever checks it writes it anew: nothing in it is taken from elsewhere. */
export function formatDeveloperText({ purpose, host, wallet, origin, genesis, issuedAt }: DeveloperText): string {
  return [
    `${new URL(origin).host} wants you to sign with your Solana account:`,
    wallet,
    '',
    `${statements[purpose]} This signs no transaction and moves no money.`,
    '',
    `Host: ${host}`,
    `URI: ${origin}`,
    'Version: 1',
    `Chain ID: solana:${genesis}`,
    `Issued At: ${new Date(issuedAt).toISOString()}`,
  ].join('\n')
}

/** A line of the document: rewards at this service are for this wallet. */
export interface DeveloperEntry {
  readonly wallet: string
  /** Its origin, or its id. */
  readonly service: string
}

const mostEntries = 100

/** One entry or a list of them. Undefined for anything else; what an entry says beside these two is left aside. */
export function readDeveloperDocument(text: string): readonly DeveloperEntry[] | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.length <= mostEntries && list.every(isEntry) ? list : undefined
}

function isEntry(value: unknown): value is DeveloperEntry {
  if (typeof value !== 'object' || value === null) return false
  const { wallet, service } = value as Partial<DeveloperEntry>
  return typeof wallet === 'string' && decodeAddress(wallet) !== undefined && typeof service === 'string'
}

/** What a host says of its developers. */
export type DocumentReading =
  | { readonly kind: 'document'; readonly entries: readonly DeveloperEntry[] }
  /** The host answers, and what it says names nobody. */
  | { readonly kind: 'unusable'; readonly why: string }
  /** Nobody knows what it would say: it cannot be reached, or has trouble. */
  | { readonly kind: 'unavailable'; readonly why: string }

/** Asks a host for its document. Never throws. */
export type ReadDocument = (host: string) => Promise<DocumentReading>

/** Where money is not real, a developer's host may be this machine, which has no certificate. */
export function developerDocumentUrl(host: string, network: Network): string {
  const scheme = network !== 'mainnet' && isLocalName(host) ? 'http' : 'https'
  return `${scheme}://${host}${developerDocumentPath}`
}

/**
 * The host of an address, in the one spelling in which hosts are compared: lower case, Punycode, no dot at the end, and a
 * port only where it is not the usual one. Undefined for an address that names a user, or none of a web server.
 */
export function readDeveloperHost(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, username, password, hostname, port } = new URL(url)
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '') return undefined
  const name = hostname.replace(/\.$/, '')
  return name === '' ? undefined : port === '' ? name : `${name}:${port}`
}

/** The verifications of hosts. One change at a time is made to a host's, over all servers; `busy` while another is. */
export interface DeveloperBook {
  /** What holds for a host now. */
  current(host: string): Promise<Verification | undefined>
  /** All that hold now. */
  all(): Promise<readonly Verification[]>
  /** From now on the host is this wallet's. */
  assign(host: string, wallet: string): Promise<Verification | 'busy'>
  /** It stays this wallet's for another while. False when it is not this wallet's any more. */
  prolong(host: string, wallet: string): Promise<boolean | 'busy'>
  /** It is this wallet's no more. False when it was not. */
  end(host: string, wallet: string): Promise<boolean | 'busy'>
}

/** The one that holds at a time, of those of one host. */
export function findVerification(all: readonly Verification[], at: number): Verification | undefined {
  return all.findLast(({ from, until }) => from <= at && at < until)
}
