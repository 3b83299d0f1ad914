/** Commands for developers, who prove to a service that they control a host and a wallet. */
import type { Commands } from '../run.ts'

const loadDevelopers = () => import('../developers/developers.ts')

export function addDeveloperCommands({ command, group, run }: Commands): void {
  const developers = group('developers', 'verify your host for a service, to earn its developer rewards')
  const atService = (name: string, description: string) =>
    command(name, description, developers).option('--service <url>', 'address of the service (default: PAYSTILE_URL)')
  const byWallet = (name: string, description: string) =>
    atService(name, description).option(
      '--wallet <file>',
      'key file of the earning wallet (default: PAYSTILE_WALLET, else ~/.paystile/wallet.json)',
    )

  byWallet('document', 'print the document to publish at your host').action(run(loadDevelopers, 'showDocument'))
  byWallet('verify', 'check the published document of a host; registers nothing')
    .argument('<host>', 'host name, such as api.example.com')
    .action(run(loadDevelopers, 'verifyHost'))
  byWallet('register', 'register your host and wallet at the service, or renew them')
    .requiredOption('--host <host>', 'host name, such as api.example.com')
    .action(run(loadDevelopers, 'registerHost'))
  byWallet('revoke', 'end the verification of a host')
    .argument('<host>', 'host name, such as api.example.com')
    .action(run(loadDevelopers, 'revokeHost'))
  atService('list', 'list the verified hosts of the service').action(run(loadDevelopers, 'listDevelopers'))
}
