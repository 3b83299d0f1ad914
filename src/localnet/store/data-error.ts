/** The data directory is not usable. The message names the file. */
import { PaystileError } from '../../core/errors/paystile-error.ts'

export class LocalnetDataError extends PaystileError {
  override readonly name = 'LocalnetDataError'
  constructor(message: string, options?: ErrorOptions) {
    super('localnet_data_unusable', message, options)
  }
}
