/** `paystile developers`: proves to a service that a host and a wallet belong together, and shows the status. */
import { agentWalletPath } from '../../client/agent-wallet.ts'
import { decodeAddress } from '../../core/encoding/base58.ts'
import { type DeveloperPurpose, developerDocumentUrl, readDeveloperHost } from '../../core/payouts/developers.ts'
import { viewKeyFile } from '../../host/keys/key-file.ts'
import { createDocumentReader } from '../../host/net/developer-documents.ts'
import { CommandError, type ExitCode, type Terminal, table, usage } from '../output.ts'
import { openWallet } from '../payment-options.ts'
import type { Flags } from '../run.ts'
import { askService, readOrigin, type ServiceView, signForService } from './service.ts'

type ServiceOptions = Flags<'service'>
type WalletOptions = Flags<'service' | 'wallet'>

/** Prints the document itself, so that the output can be saved as the file. */
export async function showDocument(terminal: Terminal, options: WalletOptions): Promise<ExitCode> {
  const entry = { wallet: readAddress(options), service: readOrigin(options.service) }
  return terminal.result(entry, [JSON.stringify(entry, null, 2)])
}

export async function listDevelopers(terminal: Terminal, options: ServiceOptions): Promise<ExitCode> {
  const { service, developers } = await askService(readOrigin(options.service))
  const rows = developers.map(({ host, wallet, until }) => [host, wallet, until])
  return terminal.result(
    { ok: true, service, developers },
    rows.length === 0 ? ['The service has no verified hosts.'] : table([['host', 'wallet', 'until'], ...rows]),
  )
}

export async function registerHost(
  terminal: Terminal,
  options: WalletOptions & { readonly host: string },
): Promise<ExitCode> {
  const verified = await sign(options, options.host, 'register')
  return terminal.result({ ok: true, ...verified }, [
    `${verified['host']} is verified for ${verified['wallet']} until ${verified['until']}.`,
    `Keep the document online: the service reads it once a day to renew the verification.`,
  ])
}

export async function revokeHost(terminal: Terminal, host: string, options: WalletOptions): Promise<ExitCode> {
  const revoked = await sign(options, host, 'revoke')
  return terminal.result({ ok: true, ...revoked }, [
    `${revoked['host']} is no longer verified. Rewards earned so far remain due.`,
  ])
}

export async function verifyHost(terminal: Terminal, text: string, options: WalletOptions): Promise<ExitCode> {
  const host = readHost(text)
  const origin = readOrigin(options.service)
  const wallet = readAddress(options)
  // The suggested commands use the same wallet.
  const named = options.wallet === undefined ? '' : ` --wallet ${options.wallet}`
  const service = await askService(origin)
  const url = developerDocumentUrl(host, service.network)
  const documents = createDocumentReader(service.network)
  const reading = await documents.read(host).finally(documents.close)
  if (reading.kind === 'unavailable') {
    const message = `The document at ${url} cannot be read: ${reading.why}. Try again.`
    throw new CommandError('unreachable', 'document_unavailable', message)
  }
  const isNamed =
    reading.kind === 'document' &&
    reading.entries.some(
      (one) => one.wallet === wallet && [origin, service.id].includes(one.service.replace(/\/$/, '')),
    )
  if (!isNamed) {
    const why = reading.kind === 'document' ? `it does not name ${wallet} for ${origin}` : reading.why
    const mend = `add the output of npx paystile developers document --service ${origin}${named}`
    throw new CommandError('refused', 'document_refused', `The document at ${url} is not valid: ${why}; ${mend}`)
  }
  const held = service.developers.find((one) => one.host === host)
  const until = held?.wallet === wallet ? held.until : null
  return terminal.result({ ok: true, host, wallet, service: origin, document: url, until }, [
    `${url} names ${wallet} for ${origin}.`,
    until === null
      ? `It is not verified yet. Run: npx paystile developers register --host ${host} --service ${origin}${named}`
      : `It is verified until ${until}.`,
  ])
}

/** Signs for the service that the user named, not for the name that the service reports. */
async function sign(options: WalletOptions, text: string, purpose: DeveloperPurpose) {
  const host = readHost(text)
  const origin = readOrigin(options.service)
  const service = await askService(origin)
  expectSame(service, origin)
  const wallet = await openWallet(options.wallet ?? agentWalletPath(), false)
  return signForService(wallet, { purpose, host, origin }, service)
}

/**
 * A service with another name would reject the message. A service that requests one for another name must not get it.
 */
function expectSame({ service }: ServiceView, origin: string): void {
  if (service === origin) return
  if (service === null)
    throw usage(`The service at ${origin} does not know its own address. Its operator must set publicUrl.`)
  throw usage(`The service at ${origin} has the address ${service}. Use that address with --service.`)
}

function readHost(text: string): string {
  const isUrl = /^https?:\/\//i.test(text)
  const host = readDeveloperHost(isUrl ? text : `https://${text}`)
  if (host !== undefined && (isUrl || !/[/?#\\]/.test(text))) return host
  throw usage(`"${text}" is not a host. Use the form api.example.com.`)
}

/** The address in the key file, which needs no passphrase, or the given address. */
function readAddress({ wallet = agentWalletPath() }: WalletOptions): string {
  if (decodeAddress(wallet) !== undefined) return wallet
  try {
    return viewKeyFile(wallet).address
  } catch (error) {
    throw new CommandError('wallet', 'wallet_unusable', (error as Error).message)
  }
}
