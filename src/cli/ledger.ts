/** The ledger of a service, opened by a command beside the service itself: by the same secret, or not at all. */
import { existsSync, readFileSync } from 'node:fs'
import { parseLedgerUrl } from '../core/ledger-url.ts'
import { genesisHashes, type Network } from '../core/network.ts'
import type { Ledger } from '../core/ports.ts'
import { LedgerUnavailable } from '../core/ports.ts'
import { createWallClock } from '../host/clock.ts'
import { findLocalnet, localLedgerFile, localnetDirectory, localSecretFile } from '../host/home.ts'
import { openLedger } from '../ledger/open.ts'
import { openKeyring } from '../server/config.ts'
import { chooseNetwork } from './network.ts'
import { CommandError, exitCodes, usage } from './output.ts'

export interface LedgerOptions {
  readonly ledger?: string
  readonly network?: Network
}

/** Opens it for the time of some work. On a chain of this machine its ledger and secret are found by themselves. */
export async function withLedger<Result>(
  options: LedgerOptions,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const network = chooseNetwork(options.network)
  const note = network === 'localnet' ? findLocalnet() : undefined
  const directory = note && localnetDirectory(note.genesis)
  const url = findUrl(options, network, directory)
  const problems: string[] = []
  const keyring = openKeyring(findSecret(directory), problems)
  if (!keyring) throw usage(`${problems.join('; ')}.`)
  const genesis = note?.genesis ?? genesisHashes[network]
  const service = process.env['PAYSTILE_SERVICE'] || 'default'
  const identity = { network, service, fingerprint: keyring.fingerprint, ...(genesis !== undefined && { genesis }) }
  const clock = createWallClock()
  try {
    const ledger = await openLedger(url, { clock, ownClock: network !== 'localnet', identity })
    return await work(ledger).finally(() => ledger.close())
  } catch (error) {
    if (error instanceof LedgerUnavailable) {
      throw new CommandError(exitCodes.unreachable, 'ledger_unavailable', sentence(error.message))
    }
    throw error
  }
}

/** A file that is not there is a mistake, and not a new ledger. */
function findUrl({ ledger }: LedgerOptions, network: Network, directory: string | undefined): string {
  const named = ledger ?? (process.env['PAYSTILE_LEDGER'] || undefined)
  const url = named ?? (directory === undefined ? `.paystile/${network}.sqlite` : localLedgerFile(directory))
  const place = parseLedgerUrl(url)
  if (place?.kind === 'memory')
    throw usage('A ledger in memory is known to its own process only; name a file or a database.')
  if (place?.kind !== 'sqlite' || existsSync(place.path)) return url
  const hint = named === undefined ? 'name it with --ledger or PAYSTILE_LEDGER' : 'check --ledger and PAYSTILE_LEDGER'
  throw usage(`There is no ledger at ${place.path}; ${hint}.`)
}

function findSecret(directory: string | undefined): string {
  const secret = process.env['PAYSTILE_SECRET']
  if (secret) return secret
  const file = directory && localSecretFile(directory)
  if (file && existsSync(file)) return readFileSync(file, 'utf8').trim()
  throw usage("PAYSTILE_SECRET is missing; set it to the service's own, by which its ledger is recognised.")
}

function sentence(message: string): string {
  return message.endsWith('.') ? message : `${message}.`
}
