/** `.env` beside a configuration: secrets that are neither in the configuration nor in the shell's history. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

export const envFileName = '.env'

export type EnvReading =
  | { readonly kind: 'absent' }
  /** The file exists but cannot be read. */
  | { readonly kind: 'unreadable'; readonly why: string }
  | {
      readonly kind: 'read'
      readonly values: Readonly<Record<string, string>>
      /** Whether other users of this machine can read it. */
      readonly isOpen: boolean
    }

/** Reads `.env` in a directory. Never throws, and never prints its content. */
export function readEnvFile(directory: string): EnvReading {
  const path = join(directory, envFileName)
  try {
    const { mode } = statSync(path)
    const values = parseEnv(readFileSync(path, 'utf8')) as Record<string, string>
    return { kind: 'read', values, isOpen: process.platform !== 'win32' && (mode & 0o077) !== 0 }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? { kind: 'absent' } : { kind: 'unreadable', why: code ?? 'it is not text' }
  }
}

type Variables = Record<string, string | undefined>

/** The file never overrides variables that were set before it was first read. */
export function followEnvFile(directory: string, environment: Variables = process.env) {
  const given = new Set(Object.keys(environment))
  let loaded: readonly string[] = []
  return {
    /** Reads the file again. The returned function reverts the changes. */
    load: () => {
      const before = loaded.map((name) => [name, environment[name]] as const)
      const reading = readEnvFile(directory)
      const values = reading.kind === 'read' ? reading.values : {}
      const put = (entries: readonly (readonly [string, string | undefined])[]): void => {
        for (const name of loaded) delete environment[name]
        for (const [name, value] of entries) environment[name] = value
        loaded = entries.map(([name]) => name)
      }
      put(Object.entries(values).filter(([name]) => !given.has(name)))
      return { reading, undo: () => put(before) }
    },
    /** The variables of the file that count. */
    values: () => Object.fromEntries(loaded.map((name) => [name, environment[name] ?? ''])),
  }
}

/**
 * Loads `.env` of a directory into the environment. Existing variables take precedence, so a file never overrides a
 * variable from the command line.
 */
export function loadEnvFile(directory: string, environment: Variables = process.env): EnvReading {
  const reading = readEnvFile(directory)
  if (reading.kind !== 'read') return reading
  for (const [name, value] of Object.entries(reading.values)) environment[name] ??= value
  return reading
}
