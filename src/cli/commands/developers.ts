/** Commands for developers, who prove to a service that they control a host and a wallet. */
import type { Commands } from '../run.ts'

export function addDeveloperCommands({ program, command, run }: Commands): void {
  const developers = program
    .command('developers')
    .description('hosts whose developers are rewarded by a service')
    .exitOverride()
  const atService = (name: string, description: string) =>
    command(name, description, developers).option('--service <url>', 'address of the service (default: PAYSTILE_URL)')
  const byWallet = (name: string, description: string) =>
    atService(name, description).option('--wallet <file>', 'key file of the wallet (default: your wallet)')

  byWallet('document', 'print the document to put on your host').action(
    run(async () => (await import('../developers/developers.ts')).showDocument),
  )
  byWallet('verify', 'read the document of a host as the service would, and change nothing')
    .argument('<host>', 'such as api.example.com')
    .action(run(async () => (await import('../developers/developers.ts')).verifyHost))
  byWallet('register', 'have a host verified for your wallet, or verified anew')
    .requiredOption('--host <host>', 'such as api.example.com')
    .action(run(async () => (await import('../developers/developers.ts')).registerHost))
  byWallet('revoke', 'want no more rewards of a host')
    .argument('<host>', 'such as api.example.com')
    .action(run(async () => (await import('../developers/developers.ts')).revokeHost))
  atService('list', 'list the hosts that are verified').action(
    run(async () => (await import('../developers/developers.ts')).listDevelopers),
  )
}
