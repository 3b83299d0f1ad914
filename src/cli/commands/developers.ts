/** Commands for developers, who prove to a service that they control a host and a wallet. */
import type { Commands } from '../run.ts'

export function addDeveloperCommands({ program, command, run }: Commands): void {
  const developers = program
    .command('developers')
    .description('manage verified hosts, whose developers earn rewards')
    .exitOverride()
  const atService = (name: string, description: string) =>
    command(name, description, developers).option('--service <url>', 'address of the service (default: PAYSTILE_URL)')
  const byWallet = (name: string, description: string) =>
    atService(name, description).option('--wallet <file>', 'key file of the wallet (default: your wallet)')

  byWallet('document', 'print the document for your host').action(
    run(async () => (await import('../developers/developers.ts')).showDocument),
  )
  byWallet('verify', 'check the document of a host without registering it')
    .argument('<host>', 'such as api.example.com')
    .action(run(async () => (await import('../developers/developers.ts')).verifyHost))
  byWallet('register', 'verify a host for your wallet, or renew the verification')
    .requiredOption('--host <host>', 'such as api.example.com')
    .action(run(async () => (await import('../developers/developers.ts')).registerHost))
  byWallet('revoke', 'end the verification of a host')
    .argument('<host>', 'such as api.example.com')
    .action(run(async () => (await import('../developers/developers.ts')).revokeHost))
  atService('list', 'list verified hosts').action(
    run(async () => (await import('../developers/developers.ts')).listDevelopers),
  )
}
