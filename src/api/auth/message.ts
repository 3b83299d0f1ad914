/**
 * Sign-in messages that certify themselves.
 *
 * The nonce is sealed: 16 random bytes and a MAC of all that the text says. So nothing is stored when one is given out, and
 * the only texts that can be signed in with are those that this service wrote, for this site and this wallet.
 */
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'
import { equalBytes, padToBlock, prepareHmac } from '../../core/encoding/hmac.ts'
import { writeNonce } from '../../core/encoding/nonce.ts'
import type { Network } from '../../core/money/tokens.ts'
import type { SignInText } from '../../core/service/sign-in-text.ts'
import { formatSignIn, parseSignIn } from '../../core/service/sign-in-text.ts'

/** What the text names as asking. */
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
  /** Whether it is a text of ours, for this site and this wallet, and not too old. */
  read(text: string, site: Site, address: string, now: number): MessageReading
}

const lifeMs = 5 * 60_000
/** Clocks of two servers may differ by so much. */
const skewMs = 30_000
const randomBytes = 16
const tagBytes = 16

export function createSignInMessages(key: Uint8Array, network: Network): SignInMessages {
  const encoder = new TextEncoder()
  const mac = prepareHmac(key, padToBlock(encoder.encode('sign-in')))
  /** Of the whole text, with the random bytes where the nonce will stand. */
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
      if (!facts) return wrong('the message is not one of this service')
      if (facts.host !== site.host || facts.origin !== site.origin) return wrong('the message is for another site')
      if (facts.network !== network) return wrong('the message is for another network')
      if (facts.address !== address) return wrong('the message is for another wallet')
      const sealed = decodeAddress(facts.nonce)
      if (!sealed || !equalBytes(sealed.subarray(randomBytes), seal(facts, sealed.subarray(0, randomBytes))))
        return wrong('the message is not one of this service')
      if (now >= facts.expiresAt || facts.issuedAt > now + skewMs) return wrong('the message has expired')
      return { kind: 'message', nonce: facts.nonce, expiresAt: facts.expiresAt }
    },
  }
}

function wrong(why: string): MessageReading {
  return { kind: 'wrong', why }
}
