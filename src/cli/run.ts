/** Binds the implementation of a command to its definition on the command line. */
import { type Command, Option } from 'commander'
import type { ExitCode, Terminal } from './output.ts'

/** Loads the implementation on demand, runs it, and keeps its exit code. */
export type Run = <Args extends readonly unknown[]>(
  load: () => Promise<(terminal: Terminal, ...args: Args) => Promise<ExitCode>>,
) => (...args: [...Args, Command]) => Promise<void>

/** Passed to the files that define commands. */
export interface Commands {
  readonly program: Command
  /** A command with `--json`, below `parent` or the program itself. `json` describes the JSON output. */
  readonly command: (name: string, description: string, parent?: Command, json?: string) => Command
  readonly run: Run
}

export function networkOption(): Option {
  return new Option('--network <name>', 'Solana network').choices(['mainnet', 'devnet', 'localnet'])
}

/** For repeatable options. */
export function collect(value: string, all: readonly string[]): readonly string[] {
  return [...all, value]
}
