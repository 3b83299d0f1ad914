/**
 * Verifies that a host and a wallet belong to the same developer: the wallet signs a text, and the host serves a
 * document that names the wallet. Both are required. `docs/developers.md` defines both.
 */

import { decodeAddress } from '../encoding/base58.ts'
import { parseJson } from '../encoding/fields.ts'
import { parseUrl } from '../encoding/url.ts'
import { isLocalName } from '../http/http.ts'
import type { Network } from '../money/tokens.ts'
import type { Verification } from './ports/rewards.ts'

export const developerDocumentPath = '/.well-known/paystile-developer.json'

/** Validity of a verification after the last time the document was seen to name the wallet. */
export const verificationDays = 30
export const dayMs = 86_400_000

/** `register`: this wallet earns the host's rewards. `revoke`: it no longer does. */
export type DeveloperPurpose = 'register' | 'revoke'

const statements: Readonly<Record<DeveloperPurpose, string>> = {
  register: 'paystile: I own this host and want its rewards paid to this wallet.',
  revoke: 'paystile: I want no more rewards of this host paid to this wallet.',
}

export interface DeveloperText {
  readonly purpose: DeveloperPurpose
  /** The host that earns the rewards. */
  readonly host: string
  readonly wallet: string
  /** Origin of the service that pays them: `https://api.example.com`. */
  readonly origin: string
  /** The genesis hash of the chain on which they are paid. */
  readonly genesis: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
}

/** The verifier composes the text itself, so none of its content comes from the signer. */
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

/** An entry of the document: the wallet that earns the rewards at this service. */
export interface DeveloperEntry {
  readonly wallet: string
  /** The service's origin or id. */
  readonly service: string
}

const mostEntries = 100

/** Reads one entry or a list of entries. Undefined for other content. Unknown members of an entry are ignored. */
export function readDeveloperDocument(text: string): readonly DeveloperEntry[] | undefined {
  const value = parseJson(text)
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.length <= mostEntries && list.every(isEntry) ? list : undefined
}

function isEntry(value: unknown): value is DeveloperEntry {
  if (typeof value !== 'object' || value === null) return false
  const { wallet, service } = value as Partial<DeveloperEntry>
  return typeof wallet === 'string' && decodeAddress(wallet) !== undefined && typeof service === 'string'
}

/** The result of reading a host's document. */
export type DocumentReading =
  | { readonly kind: 'document'; readonly entries: readonly DeveloperEntry[] }
  /** The host answered, but its document names no wallet. */
  | { readonly kind: 'unusable'; readonly why: string }
  /** The document could not be read: the host is unreachable or reports an error. */
  | { readonly kind: 'unavailable'; readonly why: string }

/** Asks a host for its document. Never throws. */
export type ReadDocument = (host: string) => Promise<DocumentReading>

/** On test networks a developer's host can be the local machine, which has no certificate. */
export function developerDocumentUrl(host: string, network: Network): string {
  const scheme = network !== 'mainnet' && isLocalName(host) ? 'http' : 'https'
  return `${scheme}://${host}${developerDocumentPath}`
}

/**
 * The host of an address in its canonical spelling: lower case, Punycode, no trailing dot, and a port only if it is not
 * the default. Undefined for an address with a user name, or one that is not http(s).
 */
export function readDeveloperHost(text: string): string | undefined {
  const url = parseUrl(text)
  if (!url) return undefined
  const { protocol, username, password, hostname, port } = url
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '') return undefined
  const name = hostname.replace(/\.$/, '')
  return name === '' ? undefined : port === '' ? name : `${name}:${port}`
}

/**
 * The verifications of hosts. Changes to one host are serialized over all servers; `busy` while another change runs.
 */
export interface DeveloperBook {
  /** The current verification of a host. */
  current(host: string): Promise<Verification | undefined>
  /** All current verifications. */
  all(): Promise<readonly Verification[]>
  /** Assigns the host to this wallet from now on. */
  assign(host: string, wallet: string): Promise<Verification | 'busy'>
  /** Extends the assignment to this wallet. False if the host is no longer assigned to it. */
  prolong(host: string, wallet: string): Promise<boolean | 'busy'>
  /** Ends the assignment to this wallet. False if the host was not assigned to it. */
  end(host: string, wallet: string): Promise<boolean | 'busy'>
}

/** Finds the verification in force at a time, among those of one host. */
export function findVerification(all: readonly Verification[], at: number): Verification | undefined {
  return all.findLast(({ from, until }) => from <= at && at < until)
}
