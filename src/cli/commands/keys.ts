/** Commands for the key files of a service: keys for payouts, conversions and opening accounts. */
import type { Commands } from '../run.ts'

export function addKeyCommands({ program, command, run }: Commands): void {
  const keys = program
    .command('keys')
    .description('create, replace and encrypt the key files of a service')
    .exitOverride()
  const onFile = (name: string, description: string) => command(name, description, keys).argument('<file>', 'key file')
  onFile('new', 'create a key file')
    .option('--passphrase', 'encrypt the key with PAYSTILE_KEY_PASSPHRASE, or ask for a passphrase')
    .action(run(async () => (await import('../setup/keys.ts')).newKey))
  onFile('show', 'show the address of a key and its file permissions').action(
    run(async () => (await import('../setup/keys.ts')).showKey),
  )
  onFile('rotate', 'replace a key with a new one, and keep the old one in a second file').action(
    run(async () => (await import('../setup/keys.ts')).rotateKey),
  )
  onFile('encrypt', 'encrypt a key with a passphrase').action(
    run(async () => (await import('../setup/keys.ts')).encryptKey),
  )
  onFile('decrypt', 'decrypt a key into the file format of the Solana CLI').action(
    run(async () => (await import('../setup/keys.ts')).decryptKey),
  )
}
