/** The error for a refused start. */
import { PaystileError } from './paystile-error.ts'

/** The options, the environment or a file cannot be used. The message names every problem and its correction. */
export class ConfigurationError extends PaystileError {
  override readonly name = 'ConfigurationError'
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(
      'configuration_invalid',
      problems.length === 1
        ? `paystile cannot start: ${problems[0]}`
        : `paystile cannot start:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    )
    this.problems = problems
  }
}
