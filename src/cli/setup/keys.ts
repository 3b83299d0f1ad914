/** `paystile keys`: creates, shows, replaces and encrypts key files. */
import { createWallClock } from '../../host/clock.ts'
import {
  type KeyFileView,
  makeKeyFile,
  passphraseVariable,
  recastKeyFile,
  rotateKeyFile,
  viewKeyFile,
} from '../../host/keys/key-file.ts'
import { CommandError, type ExitCode, exitCodes, type Terminal, table, usage } from '../output.ts'
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
    throw new CommandError(
      exitCodes.wallet,
      'key_exists',
      `There is a key at ${file} already (${address}); give another file, or replace it with: npx paystile keys rotate ${file}`,
    )
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
      ? `A service reads its passphrase from ${passphraseVariable}. Without it the key is gone, and so is a copy.`
      : `Whoever has this file has the money. npx paystile keys encrypt ${file} puts it under a passphrase.`,
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
    ...(isPrivate ? [] : ['', `Others can read it; chmod 600 ${file} keeps it to you.`]),
  ])
}

export async function rotateKey(terminal: Terminal, file: string): Promise<ExitCode> {
  const passphrase = await readPassphrase(file)
  const { address, former } = told(() => rotateKeyFile(file, createWallClock().now(), passphrase))
  const next = [
    'Restart what uses this file: it reads its key when it starts',
    `Write ${address} wherever your configuration names ${former.address}; a recipient that was replaced goes into retired.recipients`,
    `Move what ${former.address} holds to ${address}, and wait until nothing is under way from it`,
    `Keep ${former.path} until then, and remove it after that`,
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
  if (view.isEncrypted) throw usage(`${file} is encrypted already; decrypt it first to give it another passphrase.`)
  const passphrase = await newPassphrase()
  told(() => recastKeyFile(file, undefined, passphrase))
  return recast(terminal, file, view, `${file} is encrypted. Remove copies of it that are not.`)
}

export async function decryptKey(terminal: Terminal, file: string): Promise<ExitCode> {
  const view = told(() => viewKeyFile(file))
  if (!view.isEncrypted) throw usage(`${file} is not encrypted; it can be used as it is.`)
  const passphrase = await readPassphrase(file)
  told(() => recastKeyFile(file, passphrase, undefined))
  return recast(terminal, file, view, `${file} is not encrypted any more. Whoever has this file has the money.`)
}

function recast(terminal: Terminal, file: string, { address, isEncrypted }: KeyFileView, line: string): ExitCode {
  return terminal.result({ ok: true, address, keyFile: file, encrypted: !isEncrypted }, [line])
}

/** Turns a problem of a file into a message for the user. */
function told<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new CommandError(exitCodes.wallet, 'key_unusable', (error as Error).message)
  }
}
