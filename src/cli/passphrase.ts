/** Passphrases of key files: from the environment, or typed without echo. Never from an argument. */
import { attempt } from '../core/errors/attempt.ts'
import { passphraseVariable, shortestPassphrase, usualPassphrase, viewKeyFile } from '../host/keys/key-file.ts'
import { CommandError, usage } from './output.ts'

/** For an existing file. Undefined if it needs none, or without a terminal. */
export async function readPassphrase(path: string): Promise<string | undefined> {
  if (!isEncrypted(path)) return undefined
  return usualPassphrase() ?? (isPerson() ? await askFor(`Passphrase of ${path}`) : undefined)
}

/** For a new file. The user types it twice, because a typing error could not be corrected. */
export async function newPassphrase(): Promise<string> {
  const given = usualPassphrase()
  if (given !== undefined) return given
  if (!isPerson()) {
    throw usage(
      `Cannot ask for a passphrase without a terminal. Run the command in a terminal, or set ${passphraseVariable}.`,
    )
  }
  const chosen = await askFor(`New passphrase (at least ${shortestPassphrase} characters)`, tooShort)
  const again = await askFor('Repeat the passphrase')
  if (chosen !== again) throw usage('The two passphrases differ. Nothing was written. Try again.')
  return chosen
}

/** False for an unreadable file: the reader of the file reports the problem. */
function isEncrypted(path: string): boolean {
  return attempt(() => viewKeyFile(path).isEncrypted) ?? false
}

/** Questions go to stderr, because stdout may be a file. */
function isPerson(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

function tooShort(text: string | undefined): string | undefined {
  return (text ?? '').length < shortestPassphrase ? `at least ${shortestPassphrase} characters` : undefined
}

async function askFor(message: string, validate?: (text: string | undefined) => string | undefined): Promise<string> {
  const { password } = await import('@clack/prompts')
  const answer = await password({ message, output: process.stderr, ...(validate && { validate }) })
  if (typeof answer === 'string') return answer
  throw new CommandError('usage', 'cancelled', 'Cancelled. Nothing was written.')
}
