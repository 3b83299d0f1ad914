/**
 * Key files, readable by their owner only: 64 numbers in the format of Solana's own tools, or the same encrypted with a
 * passphrase. A key is returned only to an explicit read, and a key file is never overwritten.
 */

import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { parseJson } from '../../core/encoding/fields.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import { PaystileError } from '../../core/errors/paystile-error.ts'
import { createIdentity } from './ed25519.ts'
import { openKey, readSealedKey, type SealedKey, sealKey } from './sealed-key.ts'

/** The variable with the passphrase for processes without a terminal. */
export const passphraseVariable = 'PAYSTILE_KEY_PASSPHRASE'
/** Shorter passphrases can be guessed. */
export const shortestPassphrase = 12

const longestFile = 10_000

/** A key file cannot be read. The message names the file and the remedy. */
export class KeyFileError extends PaystileError {
  readonly remedy: string
  constructor(path: string, why: string, remedy: string) {
    super('key_unusable', `The key file ${path} cannot be read: ${why}; ${remedy}.`)
    this.remedy = remedy
  }
}

/** The facts about a key file that need no passphrase. */
export interface KeyFileView {
  readonly address: string
  readonly isEncrypted: boolean
  /** In the notation of `chmod`. */
  readonly mode: string
  /** Whether only its owner can read it. */
  readonly isPrivate: boolean
}

type Contents =
  | { readonly kind: 'plain'; readonly key: Uint8Array }
  | { readonly kind: 'sealed'; readonly sealed: SealedKey }

/**
 * The 64 bytes of a key. An error names the file and reveals nothing of the key. The caller fills the bytes with zeros
 * after use.
 */
export function readKeyFile(path: string, passphrase: string | undefined = usualPassphrase()): Uint8Array {
  const { contents, isPrivate } = load(path)
  requirePrivate(path, isPrivate)
  if (contents.kind === 'plain') return contents.key
  const key = openKey(contents.sealed, requirePassphrase(path, passphrase))
  if (key === undefined)
    throw new KeyFileError(path, 'the passphrase is wrong, or the file was changed', 'try another passphrase')
  return key
}

/** Throws if a key file cannot be read. Whether the passphrase is the right one shows only when the key is used. */
export function checkKeyFile(path: string): void {
  const { isEncrypted, isPrivate } = viewKeyFile(path)
  requirePrivate(path, isPrivate)
  if (isEncrypted) requirePassphrase(path, usualPassphrase())
}

function requirePrivate(path: string, isPrivate: boolean): void {
  if (!isPrivate) throw new KeyFileError(path, 'other users can read it', `run chmod 600 ${path}`)
}

function requirePassphrase(path: string, passphrase: string | undefined): string {
  if (passphrase !== undefined) return passphrase
  throw new KeyFileError(path, 'it is encrypted', `set ${passphraseVariable} to its passphrase`)
}

/** Passes a key to `use` and erases its bytes afterwards. An unreadable file throws at once. */
export function withKeyFile<T>(path: string, use: (key: Uint8Array) => Promise<T>, passphrase?: string): Promise<T> {
  const key = readKeyFile(path, passphrase)
  return use(key).finally(() => key.fill(0))
}

/** Reads the facts about a key file without its passphrase. An error names the file. */
export function viewKeyFile(path: string): KeyFileView {
  const { contents, mode, isPrivate } = load(path)
  if (contents.kind === 'sealed') return { address: contents.sealed.address, isEncrypted: true, mode, isPrivate }
  const address = readAddress(contents.key)
  contents.key.fill(0)
  if (address === undefined) throw new KeyFileError(path, 'its two halves do not match', 'restore it from a backup')
  return { address, isEncrypted: false, mode, isPrivate }
}

export function usualPassphrase(): string | undefined {
  return process.env[passphraseVariable] || undefined
}

/** Creates a key file if there is none. Returns true if it did. */
export function makeKeyFile(path: string, passphrase?: string): boolean {
  if (existsSync(path)) return false
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = writeDraft(path, ...newKey(), passphrase)
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft)
    saveDirectory(path)
  }
}

export interface Rotation {
  readonly address: string
  readonly former: { readonly address: string; readonly path: string }
}

/**
 * Replaces a key by a new one. The old file stays beside it under a name with the time. The new key has the same
 * passphrase, if there was one. The old key exists in one of the two places at every moment.
 */
export function rotateKeyFile(path: string, now: number, passphrase?: string): Rotation {
  const place = realPath(path)
  const { address: formerAddress, isEncrypted } = viewKeyFile(place)
  // Checks the passphrase first, because a mistyped one would encrypt the new file.
  readKeyFile(place, passphrase).fill(0)
  const time = new Date(now).toISOString().slice(0, 19).replaceAll(':', '')
  const former = { address: formerAddress, path: `${place}.${time}Z.old` }
  const [key, address] = newKey()
  const draft = writeDraft(place, key, address, isEncrypted ? (passphrase ?? usualPassphrase()) : undefined)
  try {
    linkSync(place, former.path)
    saveDirectory(place)
    renameSync(draft, place)
    saveDirectory(place)
  } finally {
    rmSync(draft, { force: true })
  }
  return { address, former }
}

/** Rewrites the same key: encrypted with `next`, or plain if `next` is undefined. */
export function recastKeyFile(path: string, passphrase: string | undefined, next: string | undefined): void {
  const place = realPath(path)
  const { address } = viewKeyFile(place)
  const draft = writeDraft(place, readKeyFile(place, passphrase), address, next)
  try {
    renameSync(draft, place)
    saveDirectory(place)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Checks and reads the same open file, even if its name changes meanwhile. */
function load(path: string) {
  let text: string
  let mode: number
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    const about = fstatSync(file)
    if (about.isDirectory()) throw new KeyFileError(path, 'it is a directory', 'choose a file')
    if (about.size > longestFile) throw new KeyFileError(path, 'it is too long for a key', 'choose another file')
    mode = about.mode & 0o777
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof KeyFileError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new KeyFileError(path, 'it does not exist', `create it with npx paystile keys new ${path}`)
    throw new Error(`The key file ${path} cannot be read: ${(error as Error).message}.`)
  } finally {
    if (file !== undefined) closeSync(file)
  }
  const contents = parse(text)
  if (contents === undefined)
    throw new Error(`The key file ${path} contains neither 64 numbers from 0 to 255 nor an encrypted key.`)
  const isPrivate = process.platform === 'win32' || (mode & 0o077) === 0
  return { contents, mode: mode.toString(8).padStart(4, '0'), isPrivate }
}

function parse(text: string): Contents | undefined {
  const value = parseJson(text)
  const isByte = (item: unknown) => Number.isInteger(item) && Number(item) >= 0 && Number(item) <= 255
  if (Array.isArray(value))
    return value.length === 64 && value.every(isByte) ? { kind: 'plain', key: Uint8Array.from(value) } : undefined
  const sealed = readSealedKey(value)
  return sealed && { kind: 'sealed', sealed }
}

function newKey(): [key: Uint8Array, address: string] {
  const seed = crypto.getRandomValues(new Uint8Array(32))
  const { publicKey } = createIdentity(seed)
  const key = new Uint8Array(64)
  key.set(seed)
  key.set(publicKey, 32)
  seed.fill(0)
  return [key, encodeBase58(publicKey)]
}

/** Undefined if the public half belongs to another secret. */
function readAddress(key: Uint8Array): string | undefined {
  const { publicKey } = createIdentity(key.subarray(0, 32))
  return equalBytes(publicKey, key.subarray(32)) ? encodeBase58(publicKey) : undefined
}

/** Writes a key durably under a temporary name, and erases the given bytes. */
function writeDraft(path: string, key: Uint8Array, address: string, passphrase: string | undefined): string {
  if (passphrase !== undefined && passphrase.length < shortestPassphrase)
    throw new Error(`A passphrase needs at least ${shortestPassphrase} characters. Choose a longer one.`)
  const draft = `${path}.${crypto.randomUUID()}`
  const text = JSON.stringify(passphrase === undefined ? [...key] : sealKey(key, address, passphrase))
  key.fill(0)
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, `${text}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return draft
}

/** File names are stored in the directory, which must be synced separately. Windows does not support that. */
function saveDirectory(path: string): void {
  if (process.platform === 'win32') return
  const directory = openSync(dirname(path), 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

/** The file behind a link. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}
