/**
 * Structured lines on stderr. Values are escaped by JSON and cut, so that nobody writes into the log from outside, and
 * secrets are taken out wherever they stand.
 */
import { createRedact, redactFacts } from '../core/encoding/redact.ts'
import type { Facts, Log } from '../core/runtime.ts'
import { createWallClock } from './clock.ts'

const longestValue = 256
const levels = ['error', 'warn', 'info'] as const
type Level = (typeof levels)[number]

type Environment = Readonly<Record<string, string | undefined>>

/** `PAYSTILE_LOG` says how much is written: `error`, `warn` (errors too) or `info` (all, and the default). */
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
      // Said twice: for the order of the names, and so that no fact takes the place of one of these.
      write(`${escapeRest(JSON.stringify({ ...head, ...Object.fromEntries(rest), ...head }))}\n`)
    }
  }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}

/** JSON lets some characters through that end a line, turn it round or hide in it. */
function escapeRest(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function cut<Value>(value: Value): Value | string {
  return typeof value === 'string' ? value.slice(0, longestValue) : value
}
