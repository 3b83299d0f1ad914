/** Commands for the key files of a service: keys for payouts, conversions and opening accounts. */
import type { Commands } from '../run.ts'

const loadKeys = () => import('../setup/keys.ts')

export function addKeyCommands({ command, group, run }: Commands): void {
  const keys = group('keys', 'create, replace and encrypt the key files of a service')
  const onFile = (name: string, description: string) => command(name, description, keys).argument('<file>', 'key file')
  onFile('new', 'create a key file')
    .option('--passphrase', 'encrypt the key with PAYSTILE_KEY_PASSPHRASE, or ask for a passphrase')
    .action(run(loadKeys, 'newKey'))
  onFile('show', 'show the address of a key and its file permissions').action(run(loadKeys, 'showKey'))
  onFile('rotate', 'replace a key with a new one, and keep the old one in a second file').action(
    run(loadKeys, 'rotateKey'),
  )
  onFile('encrypt', 'encrypt a key with a passphrase').action(run(loadKeys, 'encryptKey'))
  onFile('decrypt', 'decrypt a key into the file format of the Solana CLI').action(run(loadKeys, 'decryptKey'))
}
