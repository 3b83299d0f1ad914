/**
 * The output of commands: text for a person on a terminal, or JSON for a program. An error is one sentence, the next
 * step, and an exit code that scripts can test.
 */
import pc from 'picocolors'
import { PaystileError } from '../core/errors/paystile-error.ts'

/** Documented in `docs/cli.md`. The numbers never change. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** A limit of the payer, or the payer, declined. Nothing was paid. */
  declined: 3,
  /** The wallet cannot pay, or cannot be used. Nothing was paid. */
  wallet: 4,
  /** The payment was refused, or is not valid. */
  refused: 5,
  /** Paid, but not received. Running the same command again uses the same payment. */
  undelivered: 6,
  /** A server or the chain is unreachable. Nothing was paid. */
  unreachable: 7,
  /** The response has a status of 400 or more. It is still written out. */
  status: 8,
  /** The allowance ended before the resource. The message contains the command that continues. */
  exhausted: 9,
} as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Ends a command with a message for the user. */
export class CommandError extends PaystileError {
  override readonly name = 'CommandError'
  readonly exitCode: ExitCode
  constructor(exit: keyof typeof exitCodes, code: string, message: string) {
    super(code, message)
    this.exitCode = exitCodes[exit]
  }
}

export function usage(message: string): CommandError {
  return new CommandError('usage', 'usage', message)
}

export interface Terminal {
  /** Whether results are JSON. */
  readonly json: boolean
  /** Prints the result as one JSON line, or as lines for a person. Returns the exit code of success. */
  result(value: unknown, lines: readonly string[]): ExitCode
  /** Prints a progress message to stderr. */
  note(line: string): void
  write(bytes: string | Uint8Array): void
}

export function createTerminal(asked: boolean | undefined): Terminal {
  const json = asked ?? !process.stdout.isTTY
  return {
    json,
    result: (value, lines) => {
      process.stdout.write(json ? `${formatJson(value)}\n` : `${removeTerminalCommands(lines.join('\n'))}\n`)
      return exitCodes.ok
    },
    note: (line) => {
      process.stderr.write(`${removeTerminalCommands(line)}\n`)
    },
    write: (bytes) => {
      process.stdout.write(bytes)
    },
  }
}

const esc = '\u001b'
/** Characters that a terminal obeys, or that change the order of a text. */
const commands = /\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/**
 * Removes control characters except line ends, tabs and colours: texts of servers and nodes can contain commands for a
 * terminal.
 */
export function removeTerminalCommands(text: string): string {
  return text.replace(commands, (character, at: number) => {
    const isColour = character === esc && /^\[\d{1,2}m/.test(text.slice(at + 1, at + 5))
    return isColour || character === '\n' || character === '\t' ? character : ' '
  })
}

/** JSON without these characters, for a terminal. A parser reads the same texts. */
export function formatJson(value: unknown): string {
  const toEscape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value).replace(commands, toEscape)
}

/** Colours only on a terminal that supports them. */
export const paint = pc.createColors(pc.isColorSupported && process.stderr.isTTY === true)

/** Aligns the first columns of a table. */
export function table(rows: readonly (readonly string[])[], indent = '  '): readonly string[] {
  const widths = rows.reduce<number[]>(
    (all, row) => row.map((cell, index) => Math.max(all[index] ?? 0, cell.length)),
    [],
  )
  return rows.map(
    (row) =>
      `${indent}${row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd()}`,
  )
}

/** The start of a long name, enough to recognize it. */
export function short(name: string): string {
  return name.length <= 12 ? name : `${name.slice(0, 8)}…`
}

/** `1 payout`, `2 payouts`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
