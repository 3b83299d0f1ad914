/** The output file of `pay -o`. */
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CommandError, type Terminal, usage } from '../output.ts'

/** Called before the payment. It does not change an existing file. */
export function checkWritable(path: string): void {
  if (path === '') throw usage('-o needs the name of a file. Nothing was paid.')
  try {
    const file = statSync(path, { throwIfNoEntry: false })
    if (file?.isDirectory()) throw usage(`${path} is a directory. Choose a file for -o. Nothing was paid.`)
    accessSync(file ? path : `${dirname(path)}/.`, constants.W_OK)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw usage(`The file ${path} cannot be written (${readCode(error)}). Nothing was paid.`)
  }
}

export type Body = AsyncIterable<Uint8Array> | readonly Uint8Array[]

/** Whether a partial download can be kept beside the file. Devices and pipes accept a stream only. */
export function canHaveParts(path: string): boolean {
  try {
    const file = statSync(path, { throwIfNoEntry: false })
    accessSync(dirname(file ? realpathSync(path) : path), constants.W_OK)
    return file === undefined || file.isFile()
  } catch {
    return false
  }
}

/** Writes to stdout if the file cannot be written, because the resource may be paid. */
export async function writeResource(terminal: Terminal, body: Body, path: string): Promise<void> {
  let failure: string | undefined
  let bytes = 0
  const fail = (error: unknown) => {
    failure = readCode(error)
  }
  const file = await open(path, 'w').catch(fail)
  try {
    for await (const chunk of body) {
      if (file && failure === undefined) await file.writeFile(chunk).catch(fail)
      if (failure === undefined) bytes += chunk.length
      else terminal.write(chunk)
    }
  } finally {
    await file?.close()
  }
  if (failure === undefined) return terminal.note(`written to ${path}`)
  const rest = bytes === 0 ? 'the resource' : `the resource from byte ${bytes} on`
  throw usage(`The file ${path} cannot be written (${failure}); ${rest} went to stdout instead.`)
}

function readCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
