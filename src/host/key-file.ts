/** Key files in the form of Solana's own tools: 64 numbers, readable by their owner only. */
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createIdentity } from './ed25519.ts'

/** The 64 numbers of a key file. Throws one sentence that names the file. */
export function readKeyFile(path: string): readonly number[] {
  let text: string
  try {
    const file = statSync(path)
    if (file.isDirectory()) throw new Error('it is a directory; name a file')
    if (process.platform !== 'win32' && (file.mode & 0o077) !== 0) {
      throw new Error(`others can read it; chmod 600 ${path} keeps it to you`)
    }
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const why = missing ? `it does not exist; npx paystile wallet new ${path} makes one` : (error as Error).message
    throw new Error(`The key file ${path} cannot be read: ${why}.`)
  }
  const numbers = parseNumbers(text)
  if (numbers === undefined) throw new Error(`The key file ${path} does not hold 64 numbers from 0 to 255.`)
  return numbers
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

/** Makes a key file where there is none, without ever overwriting one. True when it did. */
export function makeKeyFile(path: string): boolean {
  if (existsSync(path)) return false
  const seed = crypto.getRandomValues(new Uint8Array(32))
  const numbers = [...seed, ...createIdentity(seed).publicKey]
  const draft = `${path}.${crypto.randomUUID()}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(draft, `${JSON.stringify(numbers)}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft)
    seed.fill(0)
    numbers.fill(0)
  }
}
