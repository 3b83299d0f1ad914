/** How the work of a command is bound to its words on the command line. */
import type { Command } from 'commander'
import type { ExitCode, Terminal } from './output.ts'

/** Loads the work when it is asked for, runs it, and keeps its exit code. */
export type Run = <Args extends readonly unknown[]>(
  load: () => Promise<(terminal: Terminal, ...args: Args) => Promise<ExitCode>>,
) => (...args: [...Args, Command]) => Promise<void>
