/** Binds the implementation of a command to its definition on the command line. */
import { type Command, Option } from 'commander'
import type { Network } from '../core/money/tokens.ts'
import type { ExitCode, Terminal } from './output.ts'

/** The implementation of a command. */
export type Work = (terminal: Terminal, ...args: never[]) => Promise<ExitCode>

type WorkIn<Module> = { [Name in keyof Module]: Module[Name] extends Work ? Name : never }[keyof Module]

/** Loads the module of a command on demand, runs its function `name`, and keeps the exit code. */
export type Run = <Module>(load: () => Promise<Module>, name: WorkIn<Module>) => (...args: unknown[]) => Promise<void>

/** Passed to the files that define commands. */
export interface Commands {
  readonly program: Command
  /** A command with `--json`, below `parent` or the program itself. `json` describes the JSON output. */
  readonly command: (name: string, description: string, parent?: Command, json?: string) => Command
  /** A command that only has commands below it. */
  readonly group: (name: string, description: string) => Command
  readonly run: Run
}

/** The options of a command as it receives them: texts, and switches that are true or missing. */
export type Flags<Text extends string, Switch extends string = never> = {
  readonly [Name in Text]?: string
} & { readonly [Name in Switch]?: boolean }

/** The options of commands that name a network. */
export interface NetworkFlags {
  readonly network?: Network
}

/** The options of commands that read the chain. */
export interface NodeFlags extends NetworkFlags {
  readonly rpc: readonly string[]
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
