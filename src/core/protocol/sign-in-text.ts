/**
 * The text that a wallet signs to sign in, in the format of Sign-In With Solana (CAIP-122). `docs/sign-in.md` defines
 * it byte by byte. The service writes it, and the client checks it before signing.
 */
import { decodeAddress } from '../encoding/base58.ts'
import { isNetwork, type Network } from '../money/tokens.ts'

export interface SignInText {
  /** Host name and port as a browser shows them: `api.example.com`. */
  readonly host: string
  /** `https://api.example.com` */
  readonly origin: string
  readonly address: string
  readonly network: Network
  /** Letters and digits. */
  readonly nonce: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
}

const statement = 'Sign in to see your payments. This signs no transaction and moves no money.'

export function formatSignIn({ host, origin, address, network, nonce, issuedAt, expiresAt }: SignInText): string {
  return [
    `${host} wants you to sign in with your Solana account:`,
    address,
    '',
    statement,
    '',
    `URI: ${origin}`,
    'Version: 1',
    `Chain ID: solana:${network}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date(issuedAt).toISOString()}`,
    `Expiration Time: ${new Date(expiresAt).toISOString()}`,
  ].join('\n')
}

/** Undefined for text that `formatSignIn` would not produce. */
export function parseSignIn(text: string): SignInText | undefined {
  const lines = text.split('\n')
  const after = (line: number, name: string) => lines[line]?.slice(`${name}: `.length) ?? ''
  const network = after(7, 'Chain ID').slice('solana:'.length)
  const [issuedAt, expiresAt] = [Date.parse(after(9, 'Issued At')), Date.parse(after(10, 'Expiration Time'))]
  const [nonce, address] = [after(8, 'Nonce'), lines[1] ?? '']
  if (!isNetwork(network) || Number.isNaN(issuedAt) || Number.isNaN(expiresAt)) return undefined
  if (!/^[A-Za-z0-9]{8,64}$/.test(nonce) || !decodeAddress(address)) return undefined
  const host = lines[0]?.split(' ')[0] ?? ''
  const read = { host, origin: after(5, 'URI'), address, network, nonce, issuedAt, expiresAt }
  // Any deviation in position or spelling yields a different text.
  return formatSignIn(read) === text ? read : undefined
}
