/**
 * Structured log lines on stderr. Values are escaped as JSON and truncated, so that input cannot inject log lines, and
 * secrets are redacted.
 */
import { createRedact, redactFacts } from '../core/observability/redact.ts'
import type { Facts, Log } from '../core/runtime.ts'
import { createWallClock } from './clock.ts'

const longestValue = 256
const levels = ['error', 'warn', 'info'] as const
type Level = (typeof levels)[number]

type Environment = Readonly<Record<string, string | undefined>>

/** `PAYSTILE_LOG` sets the level: `error`, `warn` (errors too) or `info` (all, and the default). */
export function createLog(
  write: (line: string) => void = (line) => process.stderr.write(line),
  env: Environment = process.env,
): Log {
  const redact = createRedact({ environment: env })
  const most = levels.indexOf(env['PAYSTILE_LOG'] as Level)
  const clock = createWallClock()
  const line = (level: Level) => {
    if (most >= 0 && levels.indexOf(level) > most) return () => {}
    return (event: string, facts: Facts = {}): void => {
      const time = new Date(clock.now()).toISOString()
      const head = { time, level, event: cut(`paystile: ${redact(event)}`) }
      const rest = Object.entries(redactFacts(facts, redact)).map(([name, value]) => [cut(name), cut(value)])
      // Spread twice: for the order of the names, and so that no fact replaces one of these.
      write(`${escapeRest(JSON.stringify({ ...head, ...Object.fromEntries(rest), ...head }))}\n`)
    }
  }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}

/** JSON does not escape some characters that end a line, reverse it or are invisible. */
function escapeRest(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function cut<Value>(value: Value): Value | string {
  return typeof value === 'string' ? value.slice(0, longestValue) : value
}
