/** Replaces the text of a file in one step: readers see the old text or the new one, also after a crash. */
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

export type Replacement = 'replaced' | 'changed'

/**
 * Replaces the file if it still has the expected text. Its mode and owner stay. A link stays a link, and its target is
 * replaced.
 *
 * The new text is first written to a file beside it. Only one writer can create that file, so two writers never
 * replace the same text.
 */
export async function replaceFile(path: string, expected: string, next: string): Promise<Replacement> {
  const real = await realpath(path)
  const { mode, uid, gid } = await stat(real)
  const draft = `${real}.edit`
  // Fails if the name exists, also as a link.
  const file = await open(draft, 'wx', mode & 0o777).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST'
      ? new Error(
          `another edit is running, or one was interrupted. Wait a moment and try again. If it stays, delete ${basename(draft)} beside ${basename(real)}: it is the copy of the interrupted edit, and ${basename(real)} has its old text.`,
        )
      : error
  })
  try {
    try {
      await file.chmod(mode & 0o777)
      await file.chown(uid, gid)
      await file.writeFile(next)
      await file.sync()
    } finally {
      await file.close()
    }
    const isExpected = (await readFile(real)).equals(Buffer.from(expected))
    if (isExpected) await rename(draft, real)
    else await rm(draft)
    if (!isExpected) return 'changed'
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncDirectory(dirname(real))
  return 'replaced'
}

/** Makes the new name durable. Some systems cannot open a directory; there the rename is as durable as it gets. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path).catch(() => undefined)
  await directory?.sync().catch(() => {})
  await directory?.close()
}
