/** The data directory cannot be used. The message names the file. */
export class LocalnetDataError extends Error {
  override readonly name = 'LocalnetDataError'
}
