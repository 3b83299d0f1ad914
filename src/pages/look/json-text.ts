/** JSON for people: indented, with every character of its strings and numbers. */
import { attempt } from '../../core/errors/attempt.ts'

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** Undefined if the text is not JSON. It is not written from its parsed value, which would round large numbers. */
export function indentJson(text: string): string | undefined {
  if (attempt(() => JSON.parse(text)) === undefined) return undefined
  let [written, previous, depth] = ['', '', 0]
  for (const [token] of text.matchAll(tokens)) {
    const isOpened = previous === '{' || previous === '['
    const isClosing = token === '}' || token === ']'
    if (isClosing) depth -= 1
    // An empty object or list stays on its line.
    if (previous === ',' || isOpened !== isClosing) written += `\n${'  '.repeat(depth)}`
    written += token === ':' ? ': ' : token
    if (token === '{' || token === '[') depth += 1
    previous = token
  }
  return written
}
