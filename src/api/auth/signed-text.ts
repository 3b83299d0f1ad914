/**
 * Verifies a wallet's signature of a text: plain, or under the header of Solana's off-chain messages, which hardware
 * wallets put before everything that is not a transaction.
 */
import { decodeSignature } from '../../core/encoding/base58.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import type { Verifier } from '../../core/runtime.ts'

const domain = Uint8Array.from([0xff, ...new TextEncoder().encode('solana offchain')])
const version = 0
/**
 * 0 is printable ASCII, 1 is UTF-8 within the limit of hardware wallets. Some wallets write 0 for texts with line
 * breaks.
 */
const formats = [0, 1] as const

/**
 * `signed` is the message that the wallet reports to have signed: Wallet Standard's `signedMessage`, if the wallet
 * sends it.
 */
export function isSignedBy(
  verify: Verifier,
  wallet: Uint8Array,
  text: string,
  { signature, signed }: { readonly signature: Uint8Array; readonly signed?: Uint8Array | undefined },
): boolean {
  const bytes = new TextEncoder().encode(text)
  if (signed) return isEnvelopeOf(signed, bytes, wallet) && verify(wallet, signed, signature)
  return [bytes, ...usualEnvelopes(bytes, wallet)].some((form) => verify(wallet, form, signature))
}

/** 64 bytes in base58, base64 or base64url. */
export function readSignature(text: string): Uint8Array | undefined {
  const bytes = decodeSignature(text) ?? readBase64(text)
  return bytes?.length === 64 ? bytes : undefined
}

export function readBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) return undefined
  try {
    const characters = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return Uint8Array.from(characters, (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** The two predictable headers: the short one of the Solana command line, and the long one without an application. */
function usualEnvelopes(text: Uint8Array, wallet: Uint8Array): readonly Uint8Array[] {
  const length = [text.length & 0xff, text.length >> 8]
  return formats.flatMap((format) => [
    Uint8Array.of(...domain, version, format, ...length, ...text),
    Uint8Array.of(...domain, version, ...new Uint8Array(32), format, 1, ...wallet, ...length, ...text),
  ])
}

/**
 * Whether `signed` is the text alone, or the text behind a header of any application with this wallet as the only
 * signer.
 */
function isEnvelopeOf(signed: Uint8Array, text: Uint8Array, wallet: Uint8Array): boolean {
  if (equalBytes(signed, text)) return true
  const known = usualEnvelopes(text, wallet)
  const application = domain.length + 1
  // The 32 bytes of the application are ignored. All other bytes must match.
  const bare =
    signed.length === (known[1]?.length ?? 0) ? Uint8Array.from(signed).fill(0, application, application + 32) : signed
  return known.some((form) => equalBytes(form, bare))
}
