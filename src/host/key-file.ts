/** Key files in the form of Solana's own tools: 64 numbers, readable by their owner only. */
import { readFileSync, statSync } from 'node:fs'

/** The 64 numbers of a key file. Throws one sentence that names the file. */
export function readKeyFile(path: string): readonly number[] {
  const numbers = parseNumbers(readPrivate(path))
  if (numbers === undefined) throw new Error(`the key file ${path} does not hold 64 numbers from 0 to 255`)
  return numbers
}

function readPrivate(path: string): string {
  try {
    const { mode } = statSync(path)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) throw new Error(`others can read it; chmod 600 ${path}`)
    return readFileSync(path, 'utf8')
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const why = isMissing ? 'it does not exist' : (error as Error).message
    throw new Error(`the key file ${path} cannot be read: ${why}`)
  }
}

function parseNumbers(text: string): readonly number[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isByte = (item: unknown) => Number.isInteger(item) && Number(item) >= 0 && Number(item) <= 255
    return Array.isArray(value) && value.length === 64 && value.every(isByte) ? value : undefined
  } catch {
    return undefined
  }
}
