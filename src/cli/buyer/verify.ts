/** `paystile verify`: checks the protocol's five rules against the chain. The payment stays unused. */
import { existsSync, readFileSync } from 'node:fs'
import { type CheckOptions, checkPayment } from '../../compose/check-payment.ts'
import { decodeSignature } from '../../core/encoding/base58.ts'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { parseNodes } from '../../core/money/tokens.ts'
import { refusals } from '../../core/payment/refusals.ts'
import { parseLedgerUrl } from '../../core/ports/ledger-url.ts'
import { findLocalnet, localLedgerFile, localnetDirectory, localSecretFile } from '../../host/home.ts'
import type { Check, Verdict } from '../../paywall/claim/check-payment.ts'
import { readSubject } from '../doctor/subject.ts'
import { chooseNetwork } from '../network.ts'
import { type ExitCode, exitCodes, paint, type Terminal, table, usage } from '../output.ts'
import { readToken } from '../payment-options.ts'
import type { Flags, NodeFlags } from '../run.ts'

type VerifyCommandOptions = NodeFlags & Flags<'recipient' | 'amount' | 'token' | 'payer' | 'config'>

const labels: readonly (readonly [keyof Verdict['checks'], string])[] = [
  ['exists', 'the transaction is on chain and succeeded'],
  ['memo', 'its memo is the requestId'],
  ['recipient', 'it paid the right recipient'],
  ['amount', 'it paid enough'],
  ['unexpired', 'it was paid in time'],
  ['unused', 'it has not been used'],
  ['sealed', 'the requestId is genuine'],
]

export async function verify(
  terminal: Terminal,
  tx: string,
  requestId: string,
  options: VerifyCommandOptions,
): Promise<ExitCode> {
  if (decodeSignature(tx) === undefined) throw usage(`"${tx}" is not a transaction signature.`)
  const verdict = await checkPayment(tx, requestId, await whereToLook(options)).catch((error: unknown) => {
    throw error instanceof ConfigurationError ? usage(inFlags(error)) : error
  })
  const rows = labels.map(([check, words]) => [mark(verdict.checks[check]), words])
  const facts =
    verdict.received === undefined
      ? []
      : ['', `  ${verdict.received} ${verdict.token} by ${verdict.payer} at ${verdict.paidAt}`]
  const answer = verdict.valid
    ? paint.green('valid')
    : `${paint.red('not valid')}: ${verdict.code && refusals[verdict.code].title}`
  terminal.result({ ok: verdict.valid, ...verdict }, [answer, ...table(rows), ...facts])
  if (verdict.valid) return exitCodes.ok
  return verdict.code?.startsWith('chain_') ? exitCodes.unreachable : exitCodes.refused
}

const promised = ['recipient', 'amount', 'token'] as const

/** Requires all three options or none. Without them, the secret of the service opens the quote in the requestId. */
function checkPromised(options: VerifyCommandOptions, hasSecret: boolean): void {
  const missing = promised.filter((name) => options[name] === undefined).map((name) => `--${name}`)
  if (missing.length === 0 || (missing.length === promised.length && hasSecret)) return
  const rest = hasSecret
    ? 'or none of the three'
    : "or the service's secret as PAYSTILE_SECRET, or its file as --config"
  throw usage(
    `${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} missing. Specify the expected payment, ${rest}.`,
  )
}

/** Problems of the options, with their names on the command line. */
function inFlags({ problems }: ConfigurationError): string {
  const named = problems.map((problem) =>
    problem
      .replace(/^mint:/, '--token:')
      .replace(/^(recipient|amount|payer|rpc):/, '--$1:')
      .replace('option rpc', '--rpc'),
  )
  return `${named.join('; ')}.`
}

function mark(check: Check): string {
  return { passed: 'yes', failed: 'NO', unchecked: '-' }[check]
}

/**
 * Finds the service of this directory: in `paystile.yaml` and `.env`, or in the environment. A localnet of this machine
 * has its own ledger and secret.
 */
async function whereToLook(options: VerifyCommandOptions): Promise<CheckOptions> {
  const { recipient, amount, token, payer } = options
  const { environment, plan, config, mints } = await findService(options)
  const network = options.network ?? config?.network ?? chooseNetwork(undefined, environment)
  const rpc = options.rpc.length > 0 ? options.rpc : (config?.rpc ?? parseNodes(environment['PAYSTILE_RPC']) ?? [])
  const directory = network === 'localnet' ? findLocalDirectory(rpc) : undefined
  const secret = plan?.service.secret ?? (environment['PAYSTILE_SECRET'] || readIfThere(directory, localSecretFile))
  checkPromised(options, secret !== undefined)
  const named = typeof config?.ledger === 'string' ? config.ledger : environment['PAYSTILE_LEDGER']
  const ledger = named || (directory ? localLedgerFile(directory) : plan && `.paystile/${network}.sqlite`)
  const service = config?.service ?? environment['PAYSTILE_SERVICE']
  return {
    network,
    waitSeconds: 2,
    ...(rpc.length > 0 && { rpc }),
    ...(recipient !== undefined && { recipient }),
    ...(amount !== undefined && { amount }),
    ...(token !== undefined && { mint: readToken(token) }),
    ...(payer !== undefined && { payer }),
    ...(secret !== undefined && { secret }),
    ...(service && { service }),
    ...(mints && { mints }),
    ...(ledger && isThere(ledger) && { ledger }),
  }
}

async function findService(options: VerifyCommandOptions) {
  const { file, environment, problems, plan, routes } = await readSubject(options.config, process.env)
  const config = routes[0]?.config.service
  // With all three options, an invalid file in this directory does not matter.
  const isNeeded = options.config !== undefined || promised.some((name) => options[name] === undefined)
  if (problems.length > 0 && file !== undefined && isNeeded)
    throw usage(`${new ConfigurationError(problems).problems.join('; ')}.`)
  const isAnother = options.network !== undefined && config !== undefined && options.network !== config.network
  // A service on another chain has no record of this payment.
  if (isAnother) return { environment: process.env }
  if (file === undefined || !plan || !config) return { environment }
  return { environment, plan, config, mints: Object.assign({}, ...routes.map(({ config: { route } }) => route.mints)) }
}

/** The directory of a localnet that runs on this machine. */
function findLocalDirectory(rpc: readonly string[]): string | undefined {
  const note = findLocalnet()
  return note && (rpc.length === 0 || rpc.includes(note.rpcUrl)) ? localnetDirectory(note.genesis) : undefined
}

function readIfThere(directory: string | undefined, fileIn: (directory: string) => string): string | undefined {
  const file = directory && fileIn(directory)
  return file && existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}

/** A missing file is not created: then the command does not check whether the payment was used. */
function isThere(ledger: string): boolean {
  const place = parseLedgerUrl(ledger)
  return place?.kind !== 'sqlite' || existsSync(place.path)
}
