/**
 * Messages that developers sign. A message is for one service, one host and one wallet, expires, and can be used once.
 */
import { decodeAddress } from '../../core/encoding/base58.ts'
import { type DeveloperPurpose, formatDeveloperText } from '../../core/payouts/developers.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock, Verifier } from '../../core/runtime.ts'
import type { Site } from '../auth/message.ts'
import { isSignedBy, readBase64, readSignature } from '../auth/signed-text.ts'
import type { DeveloperBody } from './bodies.ts'

export interface DeveloperMessageParts {
  readonly kv: Pick<KeyValueStore, 'put'>
  readonly clock: Clock
  readonly verifier: Verifier
  readonly genesis: string
}

const lifeMs = 5 * 60_000
/** Tolerance for a developer's clock that is ahead. */
const skewMs = 60_000

export function createDeveloperMessages({ kv, clock, verifier, genesis }: DeveloperMessageParts) {
  return {
    /** The reason to reject the message, as text; undefined for a valid message. */
    doubt: (purpose: DeveloperPurpose, { host, wallet, issuedAt, ...proof }: DeveloperBody, { origin }: Site) => {
      const now = clock.now()
      if (issuedAt <= now - lifeMs) return 'the message is older than five minutes'
      if (issuedAt > now + skewMs) return 'the time of the message is in the future; check the clock'
      const text = formatDeveloperText({ purpose, host, wallet, issuedAt, genesis, origin })
      const [key, signature] = [decodeAddress(wallet), readSignature(proof.signature)]
      const signed = proof.signedMessage ? readBase64(proof.signedMessage) : undefined
      return key && signature && isSignedBy(verifier, key, text, { signature, signed })
        ? undefined
        : `the signature does not match the wallet and the message for ${origin}`
    },
    /** Marks a valid message as used. False if it was used before. */
    use: (purpose: DeveloperPurpose, { host, wallet, issuedAt }: DeveloperBody) =>
      kv.put(`developers:${purpose}:${wallet}:${issuedAt}:${host}`, '', issuedAt + lifeMs),
  }
}

export type DeveloperMessages = ReturnType<typeof createDeveloperMessages>
