/**
 * Reads a gateway's configuration from a file: YAML with `${NAME}` for environment variables, or a module.
 *
 * All problems are reported at once, with line and column if the file has them. Values from the environment are never
 * printed, because most of them are secrets.
 */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type Tags } from 'yaml'
import { ConfigurationError, type ConfigurationProblem } from '../../core/errors/configuration-error.ts'
import type { Environment } from '../../paywall/config/config.ts'
import type { OptionProblem, Place } from '../../paywall/config/problems.ts'
import { formatPlace } from './place.ts'
import { type Plan, readPlan } from './plan.ts'
import { listProblems } from './yaml-problems.ts'

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
const mostAliases = 100

/** Whether a file is text, and not a module. */
export function isTextFile(path: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(path)
}

/** Reads the plan from a file. Throws a `ConfigurationError` with all problems. `text` is read instead of the file's. */
export async function readPlanFile(path: string, environment: Environment, text?: string): Promise<Plan> {
  const name = basename(path)
  if (isTextFile(path)) return readPlanText(text ?? readText(path), name, environment)
  const plan = readSource({ value: await loadModule(path), locate: () => name, secrets: [] }, environment)
  if (plan.isEditable) throw new ConfigurationError([`${name}: edit: ${onlyYaml}`])
  return plan
}

export const onlyYaml = 'prices can be edited in a YAML file only; remove the option'

/** Reads the plan from the text of a YAML file. Throws a `ConfigurationError` with all problems. */
export function readPlanText(text: string, name: string, environment: Environment): Plan {
  return { ...readSource(readYaml(text, name, environment), environment), version: nameVersion(text) }
}

/** Differs for texts that differ. */
export function nameVersion(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

function readSource(source: Source, environment: Environment): Plan {
  const reading = readPlan(source.value, environment)
  if (reading.kind === 'plan') return reading.plan
  const problems = reading.problems.map((problem) => {
    const at = formatPlace(problem.place)
    const sentence = `${source.locate(problem)}: ${at === '' ? '' : `${at}: `}${problem.why}`
    return locateIn(hide(sentence, source.secrets), problem.variable)
  })
  throw new ConfigurationError(problems)
}

function locateIn(message: string, variable: string | undefined): ConfigurationProblem {
  return variable === undefined ? { code: 'other', message } : { code: 'variable', message, variable }
}

interface Source {
  readonly value: unknown
  /** `paystile.yaml:12:5`. */
  locate(problem: OptionProblem): string
  /** Values from the environment, with their names. */
  readonly secrets: readonly (readonly [name: string, value: string])[]
}

export function readText(path: string): string {
  const { size } = statSync(path)
  if (size > longestFile) throw new ConfigurationError([`${basename(path)}: is longer than a megabyte`])
  return readFileSync(path, 'utf8')
}

/** The document of a YAML text, with its errors. */
export function parseYaml(text: string) {
  const lines = new LineCounter()
  return { document: parseDocument(text, { lineCounter: lines, prettyErrors: false, customTags: withoutHex }), lines }
}

export function readYaml(text: string, name: string, environment: Environment): Source {
  const { document, lines } = parseYaml(text)
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset)
    return `${name}:${line}:${col}`
  }
  const faults = [...document.errors, ...document.warnings]
  if (faults.length > 0) throw new ConfigurationError(listProblems(faults, at))
  const value = unfold(document, name)
  const missing: ConfigurationProblem[] = []
  const secrets: (readonly [string, string])[] = []
  const locate = ({ place, isName }: OptionProblem): string => at(offsetOf(document.contents, place, isName))
  const fill = (part: unknown, place: Place): unknown => {
    if (typeof part === 'string') {
      return part.replace(/\$(\$?)\{([A-Za-z_]\w*)\}/g, (whole, escaped: string, variable: string) => {
        if (escaped !== '') return whole.slice(1)
        const found = environment[variable]
        if (found === undefined || found === '') {
          const message = `${locate({ place, why: '' })}: ${formatPlace(place)}: the environment variable ${variable} is not set`
          missing.push({ code: 'variable', message, remedy: 'set it, or add it to .env beside this file', variable })
          return ''
        }
        secrets.push([variable, found])
        return found
      })
    }
    if (Array.isArray(part)) return part.map((one, index) => fill(one, [...place, index]))
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, fill(one, [...place, key])]))
  }
  const filled = fill(value, [])
  if (missing.length > 0) throw new ConfigurationError(missing)
  return { value: filled, locate, secrets }
}

/** Disables hexadecimal numbers: `0x…` is usually a pasted address, and is checked as text. */
function withoutHex(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === 'string' || tag.format !== 'HEX')
}

function unfold(document: ReturnType<typeof parseDocument>, name: string): unknown {
  try {
    return document.toJS({ maxAliasCount: mostAliases }) ?? {}
  } catch (error) {
    throw new ConfigurationError([`${name}: ${error instanceof Error ? error.message : String(error)}`])
  }
}

/** The position of a value or of its name. For a missing value, the position where it belongs. */
function offsetOf(contents: unknown, place: Place, isName = false): number {
  let node = contents as Node | null
  let offset = node?.range?.[0] ?? 0
  for (const [index, part] of place.entries()) {
    const pair = isMap(node) ? node.items.find((item) => keyOf(item) === String(part)) : undefined
    const next = isSeq(node) ? node.items[Number(part)] : pair?.value
    const isLast = index === place.length - 1
    const found = (isName && isLast && pair ? pair.key : next) as Node | null | undefined
    if (!found?.range) return offset
    offset = found.range[0]
    node = found
  }
  return offset
}

function keyOf({ key }: Pair): string | undefined {
  return isScalar(key) ? String(key.value) : undefined
}

/** Removes environment values from a sentence, even if it contains only the start of a value. */
function hide(sentence: string, secrets: Source['secrets']): string {
  return secrets.reduce((text, [name, value]) => {
    const shown = [value, JSON.stringify(value).slice(1, -1), `${value.slice(0, 8)}…`]
    return shown.reduce((rest, part) => (part.length < 4 ? rest : rest.replaceAll(part, `\${${name}}`)), text)
  }, sentence)
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
