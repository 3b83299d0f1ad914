/** `paystile keys`: creates, shows, replaces and encrypts key files. */
import { createWallClock } from '../../host/clock.ts'
import type { KeyFileView } from '../../host/keys/key-file.ts'
import { makeKeyFile, passphraseVariable, recastKeyFile, rotateKeyFile, viewKeyFile } from '../../host/keys/key-file.ts'
import { CommandError, type ExitCode, type Terminal, table, usage } from '../output.ts'
import { newPassphrase, readPassphrase } from '../passphrase.ts'

export async function newKey(
  terminal: Terminal,
  file: string,
  options: { readonly passphrase?: boolean },
): Promise<ExitCode> {
  const passphrase = options.passphrase ? await newPassphrase() : undefined
  const isMade = told(() => makeKeyFile(file, passphrase))
  const { address, isEncrypted } = told(() => viewKeyFile(file))
  if (!isMade) {
    const message = `${file} already contains a key (${address}). Choose another file, or replace it with: npx paystile keys rotate ${file}`
    throw new CommandError('wallet', 'key_exists', message)
  }
  return terminal.result({ ok: true, address, keyFile: file, encrypted: isEncrypted }, [
    ...table(
      [
        ['Address', address],
        ['Key file', file],
        ['Encrypted', isEncrypted ? 'yes' : 'no'],
      ],
      '',
    ),
    '',
    isEncrypted
      ? `A service reads the passphrase from ${passphraseVariable}. Without the passphrase, the key and its copies are lost.`
      : `Anyone with this file can spend the money. Encrypt it with: npx paystile keys encrypt ${file}`,
  ])
}

export async function showKey(terminal: Terminal, file: string): Promise<ExitCode> {
  const { address, isEncrypted, mode, isPrivate } = told(() => viewKeyFile(file))
  return terminal.result({ ok: true, address, keyFile: file, encrypted: isEncrypted, mode, private: isPrivate }, [
    ...table(
      [
        ['Address', address],
        ['Encrypted', isEncrypted ? 'yes' : 'no'],
        ['Mode', mode],
      ],
      '',
    ),
    ...(isPrivate ? [] : ['', `Other users can read it. Run: chmod 600 ${file}`]),
  ])
}

export async function rotateKey(terminal: Terminal, file: string): Promise<ExitCode> {
  const passphrase = await readPassphrase(file)
  const { address, former } = told(() => rotateKeyFile(file, createWallClock().now(), passphrase))
  const next = [
    'Restart all services that use this file: they read the key at start',
    `Replace ${former.address} with ${address} in your configuration; add a replaced recipient to retired.recipients`,
    `Move the balances of ${former.address} to ${address}, and wait until its outgoing transactions have landed`,
    `Keep ${former.path} until then, then remove it`,
  ]
  return terminal.result({ ok: true, address, keyFile: file, former: { ...former }, next }, [
    ...table(
      [
        ['New address', address],
        ['Its key file', file],
        ['Old address', former.address],
        ['Its key file', former.path],
      ],
      '',
    ),
    '',
    ...next.map((step, index) => `${index + 1}. ${step}.`),
  ])
}

export async function encryptKey(terminal: Terminal, file: string): Promise<ExitCode> {
  const view = told(() => viewKeyFile(file))
  if (view.isEncrypted) throw usage(`${file} is already encrypted. Decrypt it first to change the passphrase.`)
  const passphrase = await newPassphrase()
  told(() => recastKeyFile(file, undefined, passphrase))
  return recast(terminal, file, view, `${file} is encrypted. Remove its unencrypted copies.`)
}

export async function decryptKey(terminal: Terminal, file: string): Promise<ExitCode> {
  const view = told(() => viewKeyFile(file))
  if (!view.isEncrypted) throw usage(`${file} is not encrypted, so nothing was changed.`)
  const passphrase = await readPassphrase(file)
  told(() => recastKeyFile(file, passphrase, undefined))
  return recast(terminal, file, view, `${file} is no longer encrypted. Anyone with this file can spend the money.`)
}

function recast(terminal: Terminal, file: string, { address, isEncrypted }: KeyFileView, line: string): ExitCode {
  return terminal.result({ ok: true, address, keyFile: file, encrypted: !isEncrypted }, [line])
}

/** Turns a problem of a file into a message for the user. */
function told<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new CommandError('wallet', 'key_unusable', (error as Error).message)
  }
}
