/** Structured lines on stderr. Values are escaped by JSON and cut, so that nobody writes into the log from outside. */
import type { Facts, Log } from '../core/ports.ts'

const longestValue = 256

export function createLog(write: (line: string) => void = (line) => process.stderr.write(line)): Log {
  const line =
    (level: string) =>
    (event: string, facts: Facts = {}): void => {
      const cut = Object.entries(facts).map(([name, value]) => [
        name,
        typeof value === 'string' ? value.slice(0, longestValue) : value,
      ])
      write(`${JSON.stringify({ level, event: `paystile: ${event}`, ...Object.fromEntries(cut) })}\n`)
    }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
