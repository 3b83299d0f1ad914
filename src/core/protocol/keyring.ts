/**
 * The service's secrets and the keys derived from them.
 *
 * A keyring is `id:secret,id:secret`. The first secret seals new requestIds and all secrets open old ones, so a key can
 * be replaced while its challenges are being paid. Pseudonyms of wallets, tags and the key that signs receipts must
 * stay the same for years. They are derived from a root that does not rotate: the entry `root:secret`, or else the
 * entry with the lowest id.
 */
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../encoding/base64url.ts'

export interface Keyring {
  /** The id of the key that seals new requestIds. */
  readonly sealing: number
  readonly sealKeys: ReadonlyMap<number, Uint8Array>
  readonly tagKey: Uint8Array
  readonly pseudonymKey: Uint8Array
  readonly identitySeed: Uint8Array
  /** Seals data of the service's own endpoints: sign-in messages and cursors. */
  readonly serviceKey: Uint8Array
  /** Encrypts signed outgoing transactions while they are stored. */
  readonly outgoingKey: Uint8Array
  /** Identifies the root without revealing it. A ledger stores it and refuses another root. */
  readonly fingerprint: string
}

export type KeyringReading =
  | { readonly kind: 'keyring'; readonly keyring: Keyring }
  | { readonly kind: 'problem'; readonly why: string }

const shortestSecret = 32

/** Reads `PAYSTILE_SECRET`. Problems are reported without repeating the secret. */
export function readKeyring(text: string): KeyringReading {
  const secrets = new Map<number, string>()
  let root: string | undefined
  let sealing: number | undefined
  for (const [position, entry] of text.split(',').entries()) {
    const [, id = '', secret = ''] = /^\s*([^:\s]*):(.*?)\s*$/.exec(entry) ?? []
    const name = `entry ${position + 1}`
    if (id === '') return problem(`${name} does not have the form id:secret`)
    if (secret.length < shortestSecret)
      return problem(`${name} has a secret of fewer than ${shortestSecret} characters`)
    if (id === 'root') {
      if (root !== undefined) return problem('root appears twice')
      root = secret
      continue
    }
    const number = /^[1-9]\d{0,2}$/.test(id) ? Number(id) : 256
    if (number > 255) return problem(`${name} has an id that is neither "root" nor a number from 1 to 255`)
    if (secrets.has(number)) return problem(`id ${number} appears twice`)
    secrets.set(number, secret)
    sealing ??= number
  }
  if (sealing === undefined) return problem('it contains no key besides the root')
  const rootSecret = root ?? secrets.get(Math.min(...secrets.keys())) ?? ''
  const sealKeys = new Map([...secrets].map(([id, secret]) => [id, derive(secret, 'request-id')] as const))
  return {
    kind: 'keyring',
    keyring: {
      sealing,
      sealKeys,
      tagKey: derive(rootSecret, 'tags'),
      pseudonymKey: derive(rootSecret, 'pseudonyms'),
      identitySeed: derive(rootSecret, 'identity'),
      serviceKey: derive(rootSecret, 'service'),
      outgoingKey: derive(rootSecret, 'outgoing'),
      fingerprint: encodeBase64url(derive(rootSecret, 'fingerprint').subarray(0, 12)),
    },
  }
}

function derive(secret: string, purpose: string): Uint8Array {
  const encode = (value: string) => new TextEncoder().encode(value)
  return hkdf(sha256, encode(secret), encode('paystile/v1'), encode(purpose), 32)
}

function problem(why: string): KeyringReading {
  return { kind: 'problem', why }
}
