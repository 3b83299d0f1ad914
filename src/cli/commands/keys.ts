/** Commands for the key files of a service: keys for payouts, conversions and opening accounts. */
import type { Commands } from '../run.ts'

export function addKeyCommands({ program, command, run }: Commands): void {
  const keys = program.command('keys').description('key files of a service').exitOverride()
  const onFile = (name: string, description: string) => command(name, description, keys).argument('<file>', 'key file')
  onFile('new', 'make a key')
    .option('--passphrase', 'encrypt it, with PAYSTILE_KEY_PASSPHRASE or one that you are asked for')
    .action(run(async () => (await import('../setup/keys.ts')).newKey))
  onFile('show', 'show the address of a key, and who can use it; never the key').action(
    run(async () => (await import('../setup/keys.ts')).showKey),
  )
  onFile('rotate', 'put a new key in its place, and keep the old one beside it').action(
    run(async () => (await import('../setup/keys.ts')).rotateKey),
  )
  onFile('encrypt', 'put a key under a passphrase').action(
    run(async () => (await import('../setup/keys.ts')).encryptKey),
  )
  onFile('decrypt', 'write a key as Solana’s own tools read it').action(
    run(async () => (await import('../setup/keys.ts')).decryptKey),
  )
}
