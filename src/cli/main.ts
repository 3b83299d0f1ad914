#!/usr/bin/env node
/** The `paystile` command. */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Command, CommanderError } from 'commander'
import { JournalError, PaymentError } from '../client/errors.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { createRedact } from '../core/observability/redact.ts'
import { requireRuntime } from '../host/runtime.ts'
import { readVersion } from '../host/version.ts'
import { LedgerConfigurationError } from '../ledger/identity.ts'
import { addBuyerCommands } from './commands/buyer.ts'
import { addDeveloperCommands } from './commands/developers.ts'
import { addKeyCommands } from './commands/keys.ts'
import { addOperatorCommands } from './commands/operator.ts'
import { addServiceCommands } from './commands/services.ts'
import { addSetupCommands } from './commands/setup.ts'
import { CommandError, createTerminal, type ExitCode, exitCodes, paint, type Terminal } from './output.ts'
import { findExitCode, nameFlags } from './payment-errors.ts'
import type { Commands, Run, Work } from './run.ts'

const jsonText = 'print JSON (default if stdout is not a terminal)'

/** Runs a command line and returns its exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    requireRuntime(globalThis)
  } catch (error) {
    return report(createTerminal(undefined), error)
  }
  let exitCode: ExitCode = exitCodes.ok
  const run: Run =
    (load, name) =>
    async (...args) => {
      const command = args.at(-1) as Command
      const terminal = createTerminal(command.optsWithGlobals()['json'] as boolean | undefined)
      try {
        const work = (await load())[name] as Work
        exitCode = await work(terminal, ...(args.slice(0, -1) as never[]))
      } catch (error) {
        exitCode = report(terminal, error)
      }
    }
  try {
    await createProgram(run).parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  }
  return exitCode
}

function createProgram(run: Run): Command {
  const program = new Command('paystile')
    .description('Charge for any HTTP endpoint per request, on Solana.')
    .version(readVersion())
    .exitOverride()
    .showHelpAfterError('Run the command with --help for its usage.')
    .configureOutput({ outputError: (text, write) => write(text) })
  const command: Commands['command'] = (name, description, parent = program, json = jsonText) =>
    parent.command(name).description(description).option('--json', json).exitOverride()
  const group: Commands['group'] = (name, description) => program.command(name).description(description).exitOverride()
  const commands: Commands = { program, command, group, run }
  program.commandsGroup('Run a service:')
  addServiceCommands(commands)
  program.commandsGroup('Pay:')
  addBuyerCommands(commands)
  program.commandsGroup('Set up a service:')
  addSetupCommands(commands)
  addKeyCommands(commands)
  program.commandsGroup('Operate a service:')
  addOperatorCommands(commands)
  addDeveloperCommands(commands)
  return program.addHelpText('after', '\nTo try everything with test money: npx paystile demo')
}

/** Prints the error and selects the exit code. Only a defect of paystile shows a stack. */
function report(terminal: Terminal, thrown: unknown): ExitCode {
  const known = explain(thrown)
  if (!known) {
    terminal.note(createRedact()(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)))
    return exitCodes.failure
  }
  const error = { code: known.code, message: known.message, ...known.facts }
  terminal.note(
    terminal.json
      ? JSON.stringify({ ok: false, error })
      : `${paint.red('paystile:')} ${known.message.replace(/^paystile /, '')}`,
  )
  return known.exitCode
}

interface Explanation {
  readonly exitCode: ExitCode
  readonly code: string
  readonly message: string
  readonly facts?: object
}

function explain(error: unknown): Explanation | undefined {
  if (error instanceof CommandError) return error
  if (error instanceof PaymentError) {
    const { code, message, facts } = error
    return { code, message: nameFlags(message), facts, exitCode: findExitCode(code) }
  }
  if (error instanceof JournalError) return new CommandError('usage', 'journal', error.message)
  if (error instanceof ConfigurationError || error instanceof LedgerConfigurationError)
    return { code: 'configuration', message: error.message, exitCode: exitCodes.usage }
  if (error instanceof TypeError && error.message === 'fetch failed') {
    const cause = error.cause as { code?: string; message?: string } | undefined
    const why = cause?.code ?? cause?.message ?? 'no connection'
    const isLoop = why === 'redirect count exceeded'
    return {
      code: 'unreachable',
      message: isLoop
        ? 'The server redirects without end. Check the address.'
        : `The server cannot be reached (${why}). Check that it is running.`,
      exitCode: exitCodes.unreachable,
    }
  }
  return undefined
}

function isEntry(): boolean {
  try {
    return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
  } catch {
    return false
  }
}

if (isEntry()) process.exitCode = await main(process.argv.slice(2))
