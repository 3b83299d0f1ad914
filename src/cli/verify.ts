/** `paystile verify`: SPEC.md's five rules, checked against the chain. Nothing is used up. */
import { existsSync, readFileSync } from 'node:fs'
import { decodeSignature } from '../core/base58.ts'
import { refusals } from '../core/errors.ts'
import type { Network } from '../core/network.ts'
import { findLocalnet, localLedgerFile, localnetDirectory, localSecretFile } from '../host/home.ts'
import { type CheckOptions, checkPayment } from '../server/assemble-verdict.ts'
import { ConfigurationError } from '../server/configuration-error.ts'
import type { Check, Verdict } from '../server/verdict.ts'
import { chooseNetwork } from './network.ts'
import { type ExitCode, exitCodes, paint, type Terminal, table, usage } from './output.ts'
import { readToken } from './purse.ts'

interface VerifyCommandOptions {
  readonly recipient?: string
  readonly amount?: string
  readonly token?: string
  readonly payer?: string
  readonly rpc: readonly string[]
  readonly network?: Network
}

const labels: readonly (readonly [keyof Verdict['checks'], string])[] = [
  ['exists', 'the transaction is on chain and succeeded'],
  ['memo', 'its memo is the requestId'],
  ['recipient', 'it paid the right recipient'],
  ['amount', 'it paid enough'],
  ['unexpired', 'it was in time'],
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
  const verdict = await checkPayment(tx, requestId, whereToLook(options)).catch((error: unknown) => {
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

/** All three or none: with none, the secret of the service tells what the requestId promises. */
function checkPromised(options: VerifyCommandOptions, hasSecret: boolean): void {
  const missing = promised.filter((name) => options[name] === undefined).map((name) => `--${name}`)
  if (missing.length === 0 || (missing.length === promised.length && hasSecret)) return
  const rest = hasSecret ? 'or none of the three' : "or the service's secret as PAYSTILE_SECRET"
  throw usage(`${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} missing: say what had to be paid, ${rest}.`)
}

/** What is wrong with the options, by the names they have on the command line. */
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

/** On a chain of this machine the service's own ledger and secret are at hand; elsewhere the environment names them. */
function whereToLook(options: VerifyCommandOptions): CheckOptions {
  const { recipient, amount, token, payer, rpc } = options
  const network = chooseNetwork(options.network)
  const note = network === 'localnet' && rpc.length === 0 ? findLocalnet() : undefined
  const directory = note && localnetDirectory(note.genesis)
  const secretFile = directory && localSecretFile(directory)
  const ledgerFile = directory && localLedgerFile(directory)
  const secret = secretFile && existsSync(secretFile) ? readFileSync(secretFile, 'utf8').trim() : undefined
  checkPromised(options, secret !== undefined || Boolean(process.env['PAYSTILE_SECRET']))
  return {
    network,
    waitSeconds: 2,
    ...(rpc.length > 0 && { rpc }),
    ...(recipient !== undefined && { recipient }),
    ...(amount !== undefined && { amount }),
    ...(token !== undefined && { mint: readToken(token) }),
    ...(payer !== undefined && { payer }),
    ...(secret !== undefined && { secret }),
    ...(ledgerFile && existsSync(ledgerFile) && { ledger: `sqlite:${ledgerFile}` }),
  }
}
