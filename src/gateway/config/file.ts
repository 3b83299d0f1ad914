/** Reads a gateway's configuration from a file: YAML with `${NAME}` for environment variables, or a module. */
import { readFileSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import type { Environment } from '../../paywall/config/config.ts'
import type { Plan } from './plan.ts'
import { readSource } from './source.ts'

/** The file names that `paystile serve` looks for, in this order. */
export const fileNames = [
  'paystile.yaml',
  'paystile.yml',
  'paystile.config.ts',
  'paystile.config.mts',
  'paystile.config.js',
  'paystile.config.mjs',
] as const

const longestFile = 1_000_000

/** Whether a file is text, and not a module. */
export function isTextFile(path: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(path)
}

/** Reads the plan from a file. Throws a `ConfigurationError` with all problems. `text` is read instead of the file's. */
export async function readPlanFile(path: string, environment: Environment, text?: string): Promise<Plan> {
  const name = basename(path)
  if (isTextFile(path)) {
    // Servers without such a file need no parser.
    const { readPlanText } = await import('./plan-text.ts')
    return readPlanText(text ?? readText(path), name, environment)
  }
  const plan = readSource({ value: await loadModule(path), locate: () => name, secrets: [] }, environment)
  if (plan.isEditable) throw new ConfigurationError([`${name}: edit: ${onlyYaml}`])
  return plan
}

export const onlyYaml = 'prices can be edited in a YAML file only; remove the option'

export function readText(path: string): string {
  const { size } = statSync(path)
  if (size > longestFile) throw new ConfigurationError([`${basename(path)}: is longer than a megabyte`])
  return readFileSync(path, 'utf8')
}

/** Node 20 cannot load TypeScript, and newer versions support only a part of it. */
const needsTranslation: readonly unknown[] = [
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
]

let loads = 0

async function loadModule(path: string): Promise<unknown> {
  const file = resolve(path)
  const name = basename(path)
  loads += 1
  // Node caches modules by address, even if the file has changed.
  const again = loads === 1 ? '' : `?load=${loads}`
  const loaded = await import(/* @vite-ignore */ `${pathToFileURL(file).href}${again}`)
    .catch(async (error: NodeJS.ErrnoException) => {
      if (!needsTranslation.includes(error.code)) throw error
      const { createJiti } = await import('jiti')
      return createJiti(pathToFileURL(file).href, { moduleCache: false }).import(file)
    })
    .catch((error: unknown) => {
      if (error instanceof ConfigurationError) throw error
      const [why = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
      const mend = /Cannot find (?:module|package) 'paystile\b/.test(why)
        ? '; install it here: npm install paystile'
        : ''
      throw new ConfigurationError([`${name}: cannot be loaded: ${why}${mend}`])
    })
  const { config, default: usual } = loaded as { readonly config?: unknown; readonly default?: unknown }
  const found = config ?? usual
  if (found !== undefined) return found
  throw new ConfigurationError([`${name}: has no export; write: export const config = defineGateway({ … })`])
}
