/**
 * What a ledger remembers about itself, so that it is never opened for another chain's money or with another root secret,
 * under which every pseudonym in it would be a stranger's.
 */
import { PaystileError } from '../core/errors/paystile-error.ts'
import type { Network, TokenCode } from '../core/money/tokens.ts'

export interface LedgerIdentity {
  readonly network: Network
  /** The chain's genesis hash, where it is known. */
  readonly genesis?: string
  /** The service that opens the ledger. Remembered to name the ledger's maker; another one is not refused. */
  readonly service: string
  /** Of the keyring's root. */
  readonly fingerprint: string
  /** The token in which worth is reckoned; left out by who reckons none. */
  readonly reportToken?: TokenCode
}

/** The ledger must not be used as it is configured. The message is one sentence for the operator: what, and what next. */
export class LedgerConfigurationError extends PaystileError {
  override readonly name = 'LedgerConfigurationError'
  /** The same without the advice to begin anew, for commands that look into a ledger that is there. */
  readonly plainMessage: string

  constructor(message: string, { orElse, ...options }: ErrorOptions & { readonly orElse?: string } = {}) {
    super('ledger_unusable', orElse === undefined ? message : message.replace(/\.$/, `, or ${orElse}.`), options)
    this.plainMessage = message
  }
}

const orElse = 'start with a new ledger'

export type Remembered = Readonly<Partial<Record<keyof LedgerIdentity, string>>>

/** Refuses an identity that contradicts what the ledger remembers. What it does not remember yet, it does not contradict. */
export function checkIdentity(file: string, remembered: Remembered, identity: LedgerIdentity): void {
  const { network, fingerprint, service, genesis } = remembered
  const made = `The ledger ${file}, created by the service "${service ?? identity.service}",`
  if (network !== undefined && network !== identity.network) {
    throw new LedgerConfigurationError(
      `${made} holds payments of ${network}, not of ${identity.network}: use one ledger per network.`,
    )
  }
  // Before the secret: a local chain has one of its own, so that another chain's ledger differs in both.
  if (genesis !== undefined && identity.genesis !== undefined && genesis !== identity.genesis) {
    throw new LedgerConfigurationError(
      `${made} belongs to another chain (genesis hash ${genesis}, not ${identity.genesis}): ` +
        'point the RPC nodes back at that chain.',
      { orElse },
    )
  }
  if (fingerprint !== undefined && fingerprint !== identity.fingerprint) {
    throw new LedgerConfigurationError(
      `${made} was created with another root secret (fingerprint ${fingerprint}, not ${identity.fingerprint}): ` +
        'set PAYSTILE_SECRET to the keyring that created it.',
      { orElse },
    )
  }
  const { reportToken } = identity
  if (reportToken !== undefined && remembered.reportToken !== undefined && remembered.reportToken !== reportToken) {
    throw new LedgerConfigurationError(
      `${made} keeps its reports in ${remembered.reportToken}, not in ${reportToken}: ` +
        `set reportToken back, or recompute them with npx paystile books rebuild --token ${reportToken}.`,
    )
  }
}

/** Refuses a ledger whose schema is ahead of the latest that this version knows. */
export function checkVersion(file: string, version: number, latest: number): void {
  if (version <= latest) return
  throw new LedgerConfigurationError(
    `The ledger ${file} was written by a newer paystile (schema ${version}, this version supports ${latest}): ` +
      'run that version or a later one.',
  )
}
