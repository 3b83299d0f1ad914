/** The base class of all paystile errors. */

/** The error classes of the public API. `docs/errors.md` lists them with their codes. */
export const errorNames: readonly string[] = [
  'PaystileError',
  'ConfigurationError',
  'LedgerUnavailable',
  'LedgerConfigurationError',
  'PaymentError',
  'JournalError',
  'DownloadError',
  'AnalyticsError',
  'SignInError',
  'FaucetError',
  'LocalnetDataError',
]

/** An error with a stable `code` for programs. The message is for people and can change. */
export class PaystileError extends Error {
  override readonly name: string = 'PaystileError'
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * Whether an error comes from paystile. It compares names, because a process that loads the package twice (or
 * `paystile` beside `@paystile/client`) has two classes of one name, and `instanceof` recognises only one of them.
 *
 * @example
 * try {
 *   await fetchWith402(url, { wallet })
 * } catch (error) {
 *   if (!isPaystileError(error)) throw error
 *   console.error(error.name, error.code, error.message)
 * }
 */
export function isPaystileError(error: unknown): error is PaystileError {
  if (typeof error !== 'object' || error === null || !('name' in error) || !('code' in error)) return false
  return typeof error.code === 'string' && errorNames.includes(String(error.name))
}
