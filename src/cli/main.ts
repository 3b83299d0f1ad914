#!/usr/bin/env node
/** The `paystile` command. */
import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Command, CommanderError, Option } from 'commander'
import { PaymentError } from '../client/errors.ts'
import { JournalError } from '../client/file-journal.ts'
import { createRedact } from '../core/redact.ts'
import { LedgerConfigurationError } from '../ledger/identity.ts'
import { ConfigurationError } from '../server/configuration-error.ts'
import { addOperatorCommands } from './operator-commands.ts'
import { CommandError, createTerminal, type ExitCode, exitCodes, paint, type Terminal } from './output.ts'
import { exitCodeOf, nameFlags } from './payment-errors.ts'
import type { Run } from './run.ts'
import { addSetupCommands } from './setup-commands.ts'

const { version } = createRequire(import.meta.url)('../../package.json') as { readonly version: string }
const networkOption = () =>
  new Option('--network <name>', 'the chain to use').choices(['mainnet', 'devnet', 'localnet'])
const jsonText = 'answer in JSON (the default where stdout is not a terminal)'

/** Runs a command line and returns its exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode: ExitCode = exitCodes.ok
  const run =
    <Args extends readonly unknown[]>(load: () => Promise<(terminal: Terminal, ...args: Args) => Promise<ExitCode>>) =>
    async (...args: [...Args, Command]): Promise<void> => {
      const command = args.at(-1) as Command
      const terminal = createTerminal(command.optsWithGlobals()['json'] as boolean | undefined)
      try {
        const work = await load()
        exitCode = await work(terminal, ...(args.slice(0, -1) as unknown as Args))
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
    .version(version)
    .exitOverride()
    .showHelpAfterError('Run the command with --help to see how it is used.')
    .configureOutput({ outputError: (text, write) => write(text) })
  const command = (name: string, description: string, parent: Command = program, json = jsonText) =>
    parent.command(name).description(description).option('--json', json).exitOverride()

  command('demo', 'run paid resources on a chain of their own, to try everything out')
    .option('--port <number>', 'port of the service (default: 8402, or a free one)')
    .option('--keep', 'keep chain, ledger and wallet for the next time')
    .option('--slot-ms <number>', 'length of a slot of the chain in milliseconds (default: 400)')
    .action(run(async () => (await import('./demo.ts')).demo))

  command('serve', 'charge for an API of yours in any language: a gateway in front of it, from a file')
    .argument('[file]', 'configuration (default: paystile.yaml, paystile.config.ts or their kin in this directory)')
    .option('--port <number>', 'port to listen on, instead of the one in the file')
    .option('--host <address>', 'address to listen on, instead of the one in the file')
    .option('--check', 'read the file, tell what is wrong with it, and serve nothing')
    .option('--schema', 'print the JSON Schema of the file, for editors')
    .action(run(async () => (await import('./serve.ts')).serve))

  command('localnet', 'run a Solana chain on this machine')
    .option('--port <number>', 'JSON-RPC port; the next one is used too (default: 8899, or a free pair)')
    .option('--keep', 'keep the chain for the next time')
    .option('--slot-ms <number>', 'length of a slot in milliseconds (default: 400)')
    .action(run(async () => (await import('./localnet.ts')).localnet))

  const buyer = (name: string, description: string, json?: string) =>
    command(name, description, program, json)
      .argument('<url>', 'address of the resource')
      .option('-X, --request <method>', 'HTTP method')
      .option('-H, --header <line>', 'a header, "Name: value"; may be repeated', collect, [])
      .option('-d, --data <text>', 'request body; @file reads it from a file')
      .option('--token <code>', 'token to pay with; may be repeated, the preferred first', collect, [])
      .option('--rpc <url>', 'node to pay through', collect, [])
      .option('--mint <code=address>', 'a token of your own: NATIVE=<address>:<decimals>[:token-2022]', collect, [])
      .option('--allow-http', 'pay a host other than this machine over plain http')
      .addOption(networkOption())

  buyer(
    'pay',
    'request a resource, pay what it asks, and write it to stdout',
    'write status, headers, payment and body as one line of JSON',
  )
    .option('--wallet <file>', 'key file to pay with')
    .option('-i, --include', 'write status and headers too')
    .option('-o, --output <file>', 'write the body to a file, and go on where an earlier command broke off')
    .option('--max <amount>', 'the most to pay, such as "0.05 USDC"', collect, [])
    .option('--prepay <megabytes>', 'how much to buy ahead, where bytes are sold so')
    .option('--buy-more', 'with -o: pay for more until the file is whole, each time within the limits')
    .option('--sig', "prove the payment by the wallet's signature instead of a secret")
    .option('--dry-run', 'check everything and pay nothing')
    .option('--timeout <seconds>', 'how long to wait for payment and resource (default: 120)')
    .action(run(async () => (await import('./pay.ts')).pay))

  buyer('quote', 'ask what a resource costs, and pay nothing')
    .option('--timeout <seconds>', 'how long to wait for the answer (default: 60)')
    .action(run(async () => (await import('./quote.ts')).quote))

  command('verify', 'check a payment against the chain, and use nothing up')
    .argument('<tx>', 'transaction signature')
    .argument('<requestId>', 'requestId it claims to pay')
    .option('--recipient <address>', 'who had to be paid')
    .option('--amount <decimal>', 'how much had to be paid')
    .option('--token <code>', 'in which token')
    .option('--payer <address>', 'who had to pay')
    .option('--config <file>', 'configuration of the service that was paid (default: paystile.yaml here)')
    .option('--rpc <url>', 'node to ask', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('./verify.ts')).verify))

  const wallet = program.command('wallet').description('the wallet that pays').exitOverride()
  command('new', 'make a wallet', wallet)
    .argument('[file]', 'key file to write')
    .action(run(async () => (await import('./wallet.ts')).newWallet))
  command('show', 'show the address of the wallet', wallet)
    .argument('[file]', 'key file')
    .action(run(async () => (await import('./wallet.ts')).showWallet))
  command('balance', 'show what the wallet holds', wallet)
    .argument('[file]', 'key file')
    .option('--rpc <url>', 'node to ask', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('./wallet.ts')).showBalance))

  command('faucet', 'get test money on a test network')
    .argument('[address]', 'who gets it (default: your wallet)')
    .option('--token <code>', 'only this token')
    .option('--amount <decimal>', 'how much of it')
    .option('--url <url>', 'faucet to ask (default: those of all localnets that run here)')
    .action(run(async () => (await import('./faucet.ts')).faucet))
  addSetupCommands({ program, command, networkOption, collect, run })
  addOperatorCommands({ program, command, networkOption, run })
  return program
}

function collect(value: string, all: readonly string[]): readonly string[] {
  return [...all, value]
}

/** Tells what went wrong, and picks the exit code. A defect of ours is the only thing that shows a stack. */
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
    return { code, message: nameFlags(message), facts, exitCode: exitCodeOf(code) }
  }
  if (error instanceof JournalError) return new CommandError(exitCodes.usage, 'journal', error.message)
  if (error instanceof ConfigurationError || error instanceof LedgerConfigurationError) {
    return { code: 'configuration', message: error.message, exitCode: exitCodes.usage }
  }
  if (error instanceof TypeError && error.message === 'fetch failed') {
    const cause = error.cause as { code?: string; message?: string } | undefined
    const why = cause?.code ?? cause?.message ?? 'no connection'
    return {
      code: 'unreachable',
      message: `The server cannot be reached (${why}); is it running?`,
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
