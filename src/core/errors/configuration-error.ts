/** The error for a refused start. */
import { PaystileError } from './paystile-error.ts'

/** A problem with the facts that a program needs to suggest a correction. */
export interface ConfigurationProblem {
  /** `not_configured`: there is no configuration yet. `variable`: the value comes from `variable`. */
  readonly code: 'not_configured' | 'variable' | 'other'
  readonly message: string
  /** Follows the message, if the message does not contain it. */
  readonly remedy?: string
  /** The environment variable that is missing or wrong. */
  readonly variable?: string
}

/** The options, the environment or a file cannot be used. The message names every problem and its correction. */
export class ConfigurationError extends PaystileError {
  override readonly name = 'ConfigurationError'
  readonly problems: readonly string[]
  readonly details: readonly ConfigurationProblem[]
  constructor(given: readonly (string | ConfigurationProblem)[]) {
    const details = given.map((one) => (typeof one === 'string' ? { code: 'other' as const, message: one } : one))
    const problems = details.map(({ message, remedy }) => (remedy === undefined ? message : `${message}; ${remedy}`))
    super(
      'configuration_invalid',
      problems.length === 1
        ? `paystile cannot start: ${problems[0]}`
        : `paystile cannot start:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    )
    this.problems = problems
    this.details = details
  }
}
