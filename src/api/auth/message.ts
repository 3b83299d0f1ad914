/**
 * Sign-in messages that authenticate themselves.
 *
 * The nonce is 16 random bytes and a MAC of the whole text. The service therefore stores nothing when it issues a
 * message, and only accepts texts that it wrote, for this site and this wallet.
 */
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'
import { equalBytes, padToBlock, prepareHmac } from '../../core/encoding/hmac.ts'
import type { Network } from '../../core/money/tokens.ts'
import { writeNonce } from '../../core/protocol/nonce.ts'
import { formatSignIn, parseSignIn, type SignInText } from '../../core/protocol/sign-in-text.ts'

/** The site that the message names. */
export type Site = Pick<SignInText, 'host' | 'origin'>

export type MessageReading =
  | { readonly kind: 'message'; readonly nonce: string; readonly expiresAt: number }
  | { readonly kind: 'wrong'; readonly why: string }

export interface SignInMessages {
  write(
    site: Site,
    address: string,
    now: number,
  ): { readonly text: string; readonly nonce: string; readonly expiresAt: number }
  /** Checks that the text is of this service, for this site and this wallet, and not expired. */
  read(text: string, site: Site, address: string, now: number): MessageReading
}

const lifeMs = 5 * 60_000
/** Tolerance between the clocks of two servers. */
const skewMs = 30_000
const randomBytes = 16
const tagBytes = 16

export function createSignInMessages(key: Uint8Array, network: Network): SignInMessages {
  const encoder = new TextEncoder()
  const mac = prepareHmac(key, padToBlock(encoder.encode('sign-in')))
  /** The MAC of the whole text, with the random bytes in place of the nonce. */
  const seal = (facts: Omit<SignInText, 'nonce'>, random: Uint8Array): Uint8Array =>
    mac(encoder.encode(formatSignIn({ ...facts, nonce: encodeBase58(random) }))).slice(0, tagBytes)

  return {
    write: ({ host, origin }, address, now) => {
      const random = new Uint8Array(randomBytes)
      writeNonce(random, 0, randomBytes)
      const facts = { host, origin, address, network, issuedAt: now, expiresAt: now + lifeMs }
      const nonce = encodeBase58(Uint8Array.of(...random, ...seal(facts, random)))
      return { text: formatSignIn({ ...facts, nonce }), nonce, expiresAt: facts.expiresAt }
    },
    read: (text, site, address, now) => {
      const facts = parseSignIn(text)
      if (!facts) return wrong('the message was not issued by this service')
      if (facts.host !== site.host || facts.origin !== site.origin) return wrong('the message is for another site')
      if (facts.network !== network) return wrong('the message is for another network')
      if (facts.address !== address) return wrong('the message is for another wallet')
      const sealed = decodeAddress(facts.nonce)
      if (!sealed || !equalBytes(sealed.subarray(randomBytes), seal(facts, sealed.subarray(0, randomBytes))))
        return wrong('the message was not issued by this service')
      if (now >= facts.expiresAt || facts.issuedAt > now + skewMs) return wrong('the message has expired')
      return { kind: 'message', nonce: facts.nonce, expiresAt: facts.expiresAt }
    },
  }
}

function wrong(why: string): MessageReading {
  return { kind: 'wrong', why }
}
