/** Reads the plan from the text of a YAML file. */
import { isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type Tags } from 'yaml'
import { ConfigurationError, type ConfigurationProblem } from '../../core/errors/configuration-error.ts'
import type { Environment } from '../../paywall/config/config.ts'
import type { OptionProblem, Place } from '../../paywall/config/problems.ts'
import { formatPlace } from './place.ts'
import type { Plan } from './plan.ts'
import { nameVersion, readSource, type Source } from './source.ts'
import { listProblems } from './yaml-problems.ts'

const mostAliases = 100
/** More than any option needs. An alias that contains itself has no end. */
const deepest = 50
/** `${NAME}`, or a `${` without a name and `}`. One more `$` before it makes it literal. */
const placeholder = /\$(\$?)\{(?:([A-Za-z_]\w*)\})?/g

/** Throws a `ConfigurationError` with all problems. */
export function readPlanText(text: string, name: string, environment: Environment): Plan {
  return { ...readSource(readYaml(text, name, environment), environment), version: nameVersion(text) }
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
  const problems: ConfigurationProblem[] = []
  const secrets: (readonly [string, string])[] = []
  const locate = ({ place, isName }: OptionProblem): string => at(offsetOf(document.contents, place, isName))
  const fill = (part: unknown, place: Place): unknown => {
    if (typeof part === 'string') {
      return part.replace(placeholder, (whole, escaped: string, variable: string | undefined) => {
        if (escaped !== '') return whole.slice(1)
        if (variable === undefined) {
          const message = `${locate({ place, why: '' })}: ${formatPlace(place)}: has \${ without a name and }`
          problems.push({ code: 'other', message, remedy: `write \${NAME} for a variable, or $\${ for a literal \${` })
          return ''
        }
        const found = environment[variable]
        if (found === undefined || found === '') {
          const message = `${locate({ place, why: '' })}: ${formatPlace(place)}: the environment variable ${variable} is not set`
          problems.push({ code: 'variable', message, remedy: 'set it, or add it to .env beside this file', variable })
          return ''
        }
        secrets.push([variable, found])
        return found
      })
    }
    if (place.length > deepest)
      throw new ConfigurationError([
        `${locate({ place: place.slice(0, 1), why: '' })}: ${place[0]}: is nested too deeply, or an alias contains itself; flatten it, or remove the alias`,
      ])
    if (Array.isArray(part)) return part.map((one, index) => fill(one, [...place, index]))
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, fill(one, [...place, key])]))
  }
  const filled = fill(value, [])
  if (problems.length > 0) throw new ConfigurationError(problems)
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
