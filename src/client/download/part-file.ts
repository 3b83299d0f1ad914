/**
 * A download in progress: the bytes in `<path>.part`, and a note about their origin in `<path>.part.json`. The note
 * names an ETag only while the bytes belong to it. A crash at any point therefore never leads to a file with mixed
 * content.
 */

import { constants, type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseFields } from '../../core/encoding/fields.ts'
import { PaystileError } from '../../core/errors/paystile-error.ts'
import { isNameAlive, processName } from '../../host/alive.ts'
import { shareInProcess } from '../../host/process-wide.ts'
import { isValidator, nothing, type Part } from './download-range.ts'

export const downloadErrorCodes = ['file_busy', 'file_unwritable', 'size_mismatch'] as const
export type DownloadErrorCode = (typeof downloadErrorCodes)[number]

/** A failure of the file, not of the payment. */
export class DownloadError extends PaystileError {
  override readonly name = 'DownloadError'
  declare readonly code: DownloadErrorCode
  /** The number of bytes kept in `<path>.part`. */
  readonly kept: number
  /** Whether `overflow` received all bytes that the file could not take. */
  readonly isOverflowed: boolean
  constructor(code: DownloadErrorCode, message: string, kept = 0, isOverflowed = false) {
    super(code, message)
    this.kept = kept
    this.isOverflowed = isOverflowed
  }
}

export interface PartFile {
  part(): Part
  /** Discards the bytes. */
  restart(validator: string | undefined, size: number | undefined): Promise<void>
  /** Records the size of the whole when it becomes known. */
  learn(size: number | undefined): Promise<void>
  /** Resolves with the number of bytes written: all of them, or fewer with the reason. */
  write(bytes: Uint8Array): Promise<{ readonly taken: number; readonly failure?: string }>
  /** Renames the file to its final name after it is synced to disk. */
  finish(): Promise<void>
  /** Closes the file. Resumable content is kept. */
  close(): Promise<void>
}

interface Note {
  readonly url: string
  readonly validator?: string
  readonly size?: number
  /** The process that holds the file. */
  readonly holder?: string | undefined
}

const ownName = processName(process.pid)
const active = shareInProcess('downloads', () => new Set<string>())

/** Opens the existing part for this address, and locks out other processes. Throws a `DownloadError`. */
export async function openPartFile(path: string, url: string): Promise<PartFile> {
  const paths = { path, partPath: `${path}.part`, notePath: `${path}.part.json` }
  // Otherwise a device or a pipe could be replaced by a file.
  const target = await stat(path).catch(() => undefined)
  if (target && !target.isFile())
    throw new DownloadError('file_unwritable', `${path} is not a regular file (ENOTSUP). Choose another path.`)
  const text = await readText(paths.notePath)
  const before = parseNote(text)
  const holder = before?.holder
  if (active.has(paths.partPath) || (holder !== undefined && holder !== ownName && isNameAlive(holder)))
    throw busy(path)
  active.add(paths.partPath)
  let handle: FileHandle | undefined
  let isClaimed = false
  try {
    isClaimed = await claim(paths.notePath, text, { ...(before ?? { url }), holder: ownName })
    if (!isClaimed) throw busy(path)
    // The old content is not truncated before new content arrives. Links are never followed, because another user may
    // have created them.
    handle = await open(paths.partPath, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0))
    const { size: bytes } = await handle.stat()
    const isOurs = before?.url === url && before.validator !== undefined
    return createPartFile(
      paths,
      handle,
      url,
      before,
      isOurs ? { bytes, validator: before.validator, size: before.size } : nothing,
    )
  } catch (error) {
    await handle?.close()
    if (isClaimed) await unclaim(paths.notePath, before).catch(() => {})
    active.delete(paths.partPath)
    throw error instanceof DownloadError ? error : unwritable(path, error)
  }
}

function busy(path: string): DownloadError {
  return new DownloadError('file_busy', `Another download writes to ${path}. Wait for it, or choose another file.`)
}

interface Paths {
  readonly path: string
  readonly partPath: string
  readonly notePath: string
}

function unwritable(path: string, error: unknown, kept = 0): DownloadError {
  return new DownloadError('file_unwritable', `The file ${path} cannot be written (${readCode(error)}).`, kept)
}

function createPartFile(
  paths: Paths,
  handle: FileHandle,
  url: string,
  before: Note | undefined,
  found: Part,
): PartFile {
  const { path, partPath, notePath } = paths
  let part = found
  /** Whether the bytes in the file still belong to another download. */
  let isForeign = found === nothing
  let isPlaced = false
  const createNote = (): Note => {
    const { validator, size } = part
    return { url, ...(validator !== undefined && { validator }), ...(size !== undefined && { size }) }
  }
  const note = () => writeNote(notePath, { ...createNote(), holder: ownName })
  const guard = <Result>(work: () => Promise<Result>): Promise<Result> =>
    work().catch((error: unknown) => Promise.reject(unwritable(path, error, part.bytes)))
  const syncAndClose = async (): Promise<number> => {
    try {
      await handle.sync()
      return (await handle.stat()).size
    } finally {
      await handle.close()
    }
  }
  const tidy = async (): Promise<void> => {
    const bytes = await syncAndClose()
    if (isPlaced) return
    const left = isForeign ? before : createNote()
    if (bytes > 0 && left?.validator !== undefined) await writeNote(notePath, { ...left, holder: undefined })
    else await rm(notePath, { force: true })
    if (bytes === 0) await rm(partPath, { force: true })
  }
  return {
    part: () => part,
    restart: (validator, size) =>
      guard(async () => {
        isForeign = false
        part = nothing
        await note()
        await handle.truncate(0)
        part = { bytes: 0, validator, size }
        await note()
      }),
    learn: (size) =>
      guard(async () => {
        if (part.size === size) return
        part = { ...part, size }
        await note()
      }),
    write: async (bytes) => {
      let taken = 0
      try {
        while (taken < bytes.length) {
          const { bytesWritten } = await handle.write(bytes, taken, bytes.length - taken, part.bytes)
          taken += bytesWritten
          part = { ...part, bytes: part.bytes + bytesWritten }
        }
        return { taken }
      } catch (error) {
        return { taken, failure: readCode(error) }
      }
    },
    finish: () =>
      guard(async () => {
        await putInPlace(handle, paths)
        isPlaced = true
      }),
    close: async () => {
      try {
        await tidy()
      } catch {
        // The next download recognises leftovers.
      } finally {
        active.delete(partPath)
      }
    },
  }
}

async function putInPlace(handle: FileHandle, { path, partPath, notePath }: Paths): Promise<void> {
  const old = await stat(path).catch(() => undefined)
  if (old?.isFile()) await handle.chmod(old.mode & 0o777)
  await handle.sync()
  await rename(partPath, path)
  await rm(notePath, { force: true })
  // Some platforms cannot open a directory.
  const directory = await open(dirname(path), 'r').catch(() => undefined)
  await directory?.sync().catch(() => {})
  await directory?.close()
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

function parseNote(text: string | undefined): Note | undefined {
  const { url, validator, size, holder } = parseFields(text ?? '') ?? {}
  if (typeof url !== 'string') return undefined
  return {
    url,
    ...(typeof validator === 'string' && isValidator(validator) && { validator }),
    ...(Number.isSafeInteger(size) && { size: Number(size) }),
    ...(typeof holder === 'string' && { holder }),
  }
}

/**
 * Replaces the note that was read with the own one, if it is still there. Only one of several concurrent processes
 * succeeds.
 */
async function claim(path: string, before: string | undefined, note: Note): Promise<boolean> {
  const lock = `${path}.lock`
  const draft = await draftNote(path, note)
  try {
    if (!(await takeLock(lock, (await stat(draft)).mtimeMs))) return false
    try {
      if ((await readText(path)) !== before) return false
      await rename(draft, path)
      return true
    } finally {
      await rm(lock, { force: true })
    }
  } finally {
    await rm(draft, { force: true })
  }
}

/** The lock is held briefly. An older one was left by a process that crashed. */
const longestLockMs = 10_000

/** `now` is the file system's time. */
async function takeLock(path: string, now: number): Promise<boolean> {
  const left = await stat(path).catch(() => undefined)
  if (left && now - left.mtimeMs > longestLockMs) await rm(path, { force: true })
  try {
    await writeFile(path, '', { mode: 0o600, flag: 'wx' })
    return true
  } catch (error) {
    if (readCode(error) === 'EEXIST') return false
    throw error
  }
}

async function unclaim(path: string, before: Note | undefined): Promise<void> {
  if (before) await writeNote(path, { ...before, holder: undefined })
  else await rm(path, { force: true })
}

/** Writes atomically, so that a note is never incomplete. */
async function writeNote(path: string, note: Note): Promise<void> {
  await rename(await draftNote(path, note), path)
}

async function draftNote(path: string, note: Note): Promise<string> {
  const draft = `${path}.${process.pid}`
  await rm(draft, { force: true })
  await writeFile(draft, `${JSON.stringify(note)}\n`, { mode: 0o600, flag: 'wx' })
  return draft
}

function readCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
