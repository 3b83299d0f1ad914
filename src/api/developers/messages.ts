/** Messages that developers sign: for this service, this host and this wallet, fresh, and good for once. */
import { decodeAddress } from '../../core/encoding/base58.ts'
import type { DeveloperPurpose } from '../../core/payouts/developers.ts'
import { formatDeveloperText } from '../../core/payouts/developers.ts'
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

export interface DeveloperMessages {
  /** What is wrong with one, in words; undefined when nothing is. */
  doubt(purpose: DeveloperPurpose, body: DeveloperBody, site: Site): string | undefined
  /** Takes one that is good. False when it was taken before. */
  use(purpose: DeveloperPurpose, body: DeveloperBody): Promise<boolean>
}

const lifeMs = 5 * 60_000
/** A developer's clock may be ahead by so much. */
const skewMs = 60_000

export function createDeveloperMessages({ kv, clock, verifier, genesis }: DeveloperMessageParts): DeveloperMessages {
  return {
    doubt: (purpose, { host, wallet, issuedAt, ...proof }, { origin }) => {
      const now = clock.now()
      if (issuedAt <= now - lifeMs) return 'it is older than five minutes'
      if (issuedAt > now + skewMs) return 'its time has not come yet; check the clock'
      const text = formatDeveloperText({ purpose, host, wallet, issuedAt, genesis, origin })
      const [key, signature] = [decodeAddress(wallet), readSignature(proof.signature)]
      const signed = proof.signedMessage ? readBase64(proof.signedMessage) : undefined
      return key && signature && isSignedBy(verifier, key, text, { signature, signed })
        ? undefined
        : `the signature is not one of this wallet under the message for ${origin}`
    },
    use: (purpose, { host, wallet, issuedAt }) =>
      kv.put(`developers:${purpose}:${wallet}:${issuedAt}:${host}`, '', issuedAt + lifeMs),
  }
}
