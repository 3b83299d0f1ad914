/** Selects the network of a command. */
import { isNetwork, type Network, networks } from '../core/money/tokens.ts'
import { findLocalnet, type LocalnetNote } from '../host/home.ts'
import type { Environment } from '../paywall/config/config.ts'
import { CommandError, usage } from './output.ts'

/** From the command line or the environment; otherwise the chain that runs on this machine, or mainnet. */
export function chooseNetwork(given: Network | undefined, environment: Environment = process.env): Network {
  const named = given ?? (environment['PAYSTILE_NETWORK'] || undefined)
  if (named === undefined) return findLocalnet() ? 'localnet' : 'mainnet'
  if (isNetwork(named)) return named
  const choices = networks.join(', ')
  throw usage(`PAYSTILE_NETWORK is "${named}". Set it to one of ${choices}.`)
}

export function runningLocalnet(): LocalnetNote {
  const note = findLocalnet()
  if (note) return note
  throw new CommandError(
    'unreachable',
    'no_localnet',
    'No localnet runs on this machine. Start one with: npx paystile localnet',
  )
}
