/** How the work of a command is bound to its words on the command line. */
import { type Command, Option } from 'commander'
import type { ExitCode, Terminal } from './output.ts'

/** Loads the work when it is asked for, runs it, and keeps its exit code. */
export type Run = <Args extends readonly unknown[]>(
  load: () => Promise<(terminal: Terminal, ...args: Args) => Promise<ExitCode>>,
) => (...args: [...Args, Command]) => Promise<void>

/** What the files with commands add theirs with. */
export interface Commands {
  readonly program: Command
  /** A command with `--json`, of the program itself where no parent is given. `json` says what is written then. */
  readonly command: (name: string, description: string, parent?: Command, json?: string) => Command
  readonly run: Run
}

export function networkOption(): Option {
  return new Option('--network <name>', 'the chain to use').choices(['mainnet', 'devnet', 'localnet'])
}

/** For options that may be repeated. */
export function collect(value: string, all: readonly string[]): readonly string[] {
  return [...all, value]
}
