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

export function networkOption(
  description = 'Solana network (default: PAYSTILE_NETWORK, else a localnet that runs here, else mainnet)',
): Option {
  return new Option('--network <name>', description).choices(['mainnet', 'devnet', 'localnet'])
}

/** For commands that work on a service. */
export const serviceNetwork = 'Solana network (default: the one of the service)'

/** An option that may be repeated. `fallback` describes the default in the help. */
export function repeatable(flags: string, description: string, fallback: string): Option {
  return new Option(flags, `${description}; repeatable`).argParser(collect).default([], fallback)
}

function collect(value: string, all: readonly string[]): readonly string[] {
  return [...all, value]
}

export function nodeOption(): Option {
  return repeatable('--rpc <url>', 'Solana node', 'PAYSTILE_RPC, else the localnet or the public nodes')
}
