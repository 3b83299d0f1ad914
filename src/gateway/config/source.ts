/**
 * Reads the plan from the content of a configuration file.
 *
 * All problems are reported at once, with line and column if the file has them. Values from the environment are never
 * printed, because most of them are secrets.
 */
import { createHash } from 'node:crypto'
import { ConfigurationError, type ConfigurationProblem } from '../../core/errors/configuration-error.ts'
import type { Environment } from '../../paywall/config/config.ts'
import type { OptionProblem } from '../../paywall/config/problems.ts'
import { formatPlace } from './place.ts'
import { type Plan, readPlan } from './plan.ts'

/** Throws a `ConfigurationError` with all problems. */
export function readSource(source: Source, environment: Environment): Plan {
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

/** The content of a configuration file, and the places of its options. */
export interface Source {
  readonly value: unknown
  /** `paystile.yaml:12:5`. */
  locate(problem: OptionProblem): string
  /** Values from the environment, with their names. */
  readonly secrets: readonly (readonly [name: string, value: string])[]
}

/** Removes environment values from a sentence, even if it contains only the start of a value. */
function hide(sentence: string, secrets: Source['secrets']): string {
  return secrets.reduce((text, [name, value]) => {
    const shown = [value, JSON.stringify(value).slice(1, -1), `${value.slice(0, 8)}…`]
    return shown.reduce((rest, part) => (part.length < 4 ? rest : rest.replaceAll(part, `\${${name}}`)), text)
  }, sentence)
}

/** Differs for texts that differ. */
export function nameVersion(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
