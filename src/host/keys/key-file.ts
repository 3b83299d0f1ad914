/**
 * Key files, readable by their owner only: 64 numbers in the form of Solana's own tools, or the same under a passphrase.
 * No key ever leaves this file but to who asks to read it, and none is ever written over.
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
import { equalBytes } from '../../core/encoding/hmac.ts'
import { createIdentity } from './ed25519.ts'
import { openKey, readSealedKey, type SealedKey, sealKey } from './sealed-key.ts'

/** Where a process that nobody sits before finds the passphrase of its key files. */
export const passphraseVariable = 'PAYSTILE_KEY_PASSPHRASE'
/** Shorter ones are found by trying. */
export const shortestPassphrase = 12

const longestFile = 10_000

/** What can be told of a key file without its passphrase. */
export interface KeyFileView {
  readonly address: string
  readonly isEncrypted: boolean
  /** As `chmod` has it. */
  readonly mode: string
  /** Whether only its owner can use it. */
  readonly isPrivate: boolean
}

type Contents =
  | { readonly kind: 'plain'; readonly key: Uint8Array }
  | { readonly kind: 'sealed'; readonly sealed: SealedKey }

/**
 * The 64 bytes of a key. Throws one sentence that names the file and says nothing of the key. Fill them with zeros when they
 * are not needed any more.
 */
export function readKeyFile(path: string, passphrase: string | undefined = usualPassphrase()): Uint8Array {
  const { contents, isPrivate } = load(path)
  if (!isPrivate) throw unreadable(path, `others can read it; chmod 600 ${path} keeps it to you`)
  if (contents.kind === 'plain') return contents.key
  if (passphrase === undefined) throw unreadable(path, `it is encrypted; put its passphrase into ${passphraseVariable}`)
  const key = openKey(contents.sealed, passphrase)
  if (key === undefined) throw unreadable(path, 'this is not its passphrase, or the file was changed; try another')
  return key
}

/** Hands a key to who makes something of it, and leaves no bytes behind. A file that cannot be read throws at once. */
export function withKeyFile<T>(path: string, use: (key: Uint8Array) => Promise<T>, passphrase?: string): Promise<T> {
  const key = readKeyFile(path, passphrase)
  return use(key).finally(() => key.fill(0))
}

/** Looks at a key file without opening it. Throws one sentence that names the file. */
export function viewKeyFile(path: string): KeyFileView {
  const { contents, mode, isPrivate } = load(path)
  if (contents.kind === 'sealed') return { address: contents.sealed.address, isEncrypted: true, mode, isPrivate }
  const address = readAddress(contents.key)
  contents.key.fill(0)
  if (address === undefined) throw unreadable(path, 'its halves do not belong together; restore it from a copy')
  return { address, isEncrypted: false, mode, isPrivate }
}

export function usualPassphrase(): string | undefined {
  return process.env[passphraseVariable] || undefined
}

/** Makes a key file where there is none, without ever overwriting one. True when it did. */
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
 * Puts a new key in the place of another, which is kept beside it under a name with the time. The new one is under the same
 * passphrase, if there was one. The old key is in one of the two places at every moment.
 */
export function rotateKeyFile(path: string, now: number, passphrase?: string): Rotation {
  const place = realPath(path)
  const { address: formerAddress, isEncrypted } = viewKeyFile(place)
  // A passphrase with a slip in it would be the new file's.
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

/** Writes the same key in the other form: under `next`, or readable where that is undefined. */
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

interface Loaded {
  readonly contents: Contents
  readonly mode: string
  readonly isPrivate: boolean
}

/** What is looked at and what is read is the same file, whatever becomes of its name meanwhile. */
function load(path: string): Loaded {
  let text: string
  let mode: number
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    const about = fstatSync(file)
    if (about.isDirectory()) throw new Error('it is a directory; name a file')
    if (about.size > longestFile) throw new Error('it is too long for a key; name another file')
    mode = about.mode & 0o777
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const why = missing ? `it does not exist; npx paystile keys new ${path} makes one` : (error as Error).message
    throw unreadable(path, why)
  } finally {
    if (file !== undefined) closeSync(file)
  }
  const contents = parse(text)
  if (contents === undefined) {
    throw new Error(`The key file ${path} does not hold 64 numbers from 0 to 255, nor an encrypted key.`)
  }
  const isPrivate = process.platform === 'win32' || (mode & 0o077) === 0
  return { contents, mode: mode.toString(8).padStart(4, '0'), isPrivate }
}

function parse(text: string): Contents | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // What it holds is not repeated.
    return undefined
  }
  const isByte = (item: unknown) => Number.isInteger(item) && Number(item) >= 0 && Number(item) <= 255
  if (Array.isArray(value)) {
    return value.length === 64 && value.every(isByte) ? { kind: 'plain', key: Uint8Array.from(value) } : undefined
  }
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

/** Undefined when the public half belongs to another secret. */
function readAddress(key: Uint8Array): string | undefined {
  const { publicKey } = createIdentity(key.subarray(0, 32))
  return equalBytes(publicKey, key.subarray(32)) ? encodeBase58(publicKey) : undefined
}

/** Writes a key, for good, under a name that is about to be changed. The bytes that were given are gone then. */
function writeDraft(path: string, key: Uint8Array, address: string, passphrase: string | undefined): string {
  if (passphrase !== undefined && passphrase.length < shortestPassphrase) {
    throw new Error(`A passphrase needs at least ${shortestPassphrase} characters; choose a longer one.`)
  }
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

/** Names are in the directory, which is written when it likes. Windows has no such thing. */
function saveDirectory(path: string): void {
  if (process.platform === 'win32') return
  const directory = openSync(dirname(path), 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

/** Behind a link, where the file itself is. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}

function unreadable(path: string, why: string): Error {
  return new Error(`The key file ${path} cannot be read: ${why}.`)
}
