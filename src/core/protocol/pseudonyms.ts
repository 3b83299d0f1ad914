/**
 * Pseudonyms of wallets and requestIds. They are keyed, because a plain hash could be reversed by hashing all known
 * payers.
 */
import { encodeBase64url } from '../encoding/base64url.ts'
import { padToBlock, prepareHmac } from '../encoding/hmac.ts'

export interface Pseudonyms {
  wallet(address: Uint8Array): string
  request(requestId: string): string
}

const nameBytes = 16

export function createPseudonyms(key: Uint8Array): Pseudonyms {
  const encoder = new TextEncoder()
  const macFor = (purpose: string) => prepareHmac(key, padToBlock(encoder.encode(purpose)))
  const [walletMac, requestMac] = [macFor('wallet'), macFor('request')]
  return {
    wallet: (address) => encodeBase64url(walletMac(address), nameBytes),
    request: (requestId) => encodeBase64url(requestMac(encoder.encode(requestId)), nameBytes),
  }
}
