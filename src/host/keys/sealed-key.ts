/**
 * A key encrypted with a passphrase: scrypt derives the key, AES-256-GCM encrypts. The address stays readable, so that
 * files can be told apart without the passphrase, and is authenticated with the rest.
 */
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'
import { decodeAddress } from '../../core/encoding/base58.ts'

/** The content of the file. Bytes are base64url. */
export interface SealedKey {
  readonly version: 1
  readonly address: string
  readonly kdf: 'scrypt'
  readonly N: number
  readonly r: number
  readonly p: number
  readonly salt: string
  readonly cipher: 'aes-256-gcm'
  readonly iv: string
  readonly tag: string
  readonly data: string
}

/** The cost of one attempt: 128 MiB and a few tenths of a second. */
const cost = { N: 2 ** 17, r: 8, p: 1 } as const
/** A file with a higher cost is refused, because it could exhaust memory and time. */
const mostBytes = 256 * 2 ** 20
const mostWork = 2 ** 22
const keyBytes = 64

/** `key` is 64 bytes, the secret half first. */
export function sealKey(key: Uint8Array, address: string, passphrase: string): SealedKey {
  const [salt, iv] = [randomBytes(32), randomBytes(12)]
  const sealing = deriveKey(passphrase, salt, cost)
  const cipher = createCipheriv('aes-256-gcm', sealing, iv, { authTagLength: 16 }).setAAD(saidWith(address))
  const data = Buffer.concat([cipher.update(key), cipher.final()])
  sealing.fill(0)
  return {
    version: 1,
    address,
    kdf: 'scrypt',
    ...cost,
    salt: salt.toString('base64url'),
    cipher: 'aes-256-gcm',
    iv: iv.toString('base64url'),
    tag: cipher.getAuthTag().toString('base64url'),
    data: data.toString('base64url'),
  }
}

/** Undefined for a wrong passphrase or a modified file. */
export function openKey(sealed: SealedKey, passphrase: string): Uint8Array | undefined {
  const bytes = (text: string) => Buffer.from(text, 'base64url')
  const sealing = deriveKey(passphrase, bytes(sealed.salt), sealed)
  try {
    const decipher = createDecipheriv('aes-256-gcm', sealing, bytes(sealed.iv), { authTagLength: 16 })
      .setAAD(saidWith(sealed.address))
      .setAuthTag(bytes(sealed.tag))
    return new Uint8Array(Buffer.concat([decipher.update(bytes(sealed.data)), decipher.final()]))
  } catch {
    return undefined
  } finally {
    sealing.fill(0)
  }
}

/** Validates the content of a file. Undefined if it is not a key file of paystile. */
export function readSealedKey(value: unknown): SealedKey | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const sealed = value as Partial<Record<keyof SealedKey, unknown>>
  const { version, address, kdf, N, r, p, cipher } = sealed
  if (version !== 1 || kdf !== 'scrypt' || cipher !== 'aes-256-gcm') return undefined
  if (typeof address !== 'string' || decodeAddress(address) === undefined) return undefined
  if (!isCount(N) || !isCount(r) || !isCount(p) || !Number.isInteger(Math.log2(N))) return undefined
  if (N < 2 || 128 * N * r > mostBytes || N * r * p > mostWork) return undefined
  const hasBytes = (name: keyof SealedKey, length: number) => {
    const text = sealed[name]
    return typeof text === 'string' && Buffer.from(text, 'base64url').length === length
  }
  const isWhole = hasBytes('salt', 32) && hasBytes('iv', 12) && hasBytes('tag', 16) && hasBytes('data', keyBytes)
  return isWhole ? (value as SealedKey) : undefined
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1
}

/** Normalized, so that a text that looks the same is the same on every keyboard. */
function deriveKey(passphrase: string, salt: Uint8Array, { N, r, p }: Pick<SealedKey, 'N' | 'r' | 'p'>): Buffer {
  return scryptSync(passphrase.normalize('NFKC'), salt, 32, { N, r, p, maxmem: 2 * mostBytes })
}

function saidWith(address: string): Uint8Array {
  return Buffer.from(`paystile key 1\n${address}`, 'utf8')
}
