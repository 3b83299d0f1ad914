import { attempt } from '../errors/attempt.ts'

/**
 * Undefined if the text is not a URL. `URL.canParse` is not used: in Node 20 and 22 it denies names such as
 * `bücher.example` after its caller was optimized.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  return attempt(() => new URL(text, base))
}
