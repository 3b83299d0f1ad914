/**
 * The identity that a ledger stores. It prevents the use of a ledger with another chain, or with another root secret,
 * under which none of its pseudonyms could be found.
 */
import { PaystileError } from '../core/errors/paystile-error.ts'
import type { Network, TokenCode } from '../core/money/tokens.ts'

export interface LedgerIdentity {
  readonly network: Network
  /** The chain's genesis hash, if it is known. */
  readonly genesis?: string
  /** The service that opens the ledger. Stored to show the ledger's creator. A different service is not refused. */
  readonly service: string
  /** The fingerprint of the keyring's root secret. */
  readonly fingerprint: string
  /** The token of the reports. Omitted by callers that value no payments. */
  readonly reportToken?: TokenCode
}

interface LedgerErrorOptions extends ErrorOptions {
  /** An alternative for a service that starts. */
  readonly orElse?: string
}

/**
 * The ledger must not be used with this configuration. The message states the problem and the next step for the
 * operator.
 */
export class LedgerConfigurationError extends PaystileError {
  override readonly name = 'LedgerConfigurationError'
  readonly problem: string
  readonly remedy: string | undefined
  /** The message without the advice to start a new ledger, for commands that read an existing one. */
  readonly plainMessage: string

  /** Without a remedy, the problem is a complete sentence. */
  constructor(problem: string, plainRemedy?: string, { orElse, ...options }: LedgerErrorOptions = {}) {
    const remedy = orElse === undefined ? plainRemedy : `${plainRemedy}, or ${orElse}`
    super('ledger_unusable', remedy === undefined ? problem : `${problem}: ${remedy}.`, options)
    this.problem = problem
    this.remedy = remedy
    this.plainMessage = plainRemedy === undefined ? problem : `${problem}: ${plainRemedy}.`
  }
}

const orElse = 'start with a new ledger'

export type Remembered = Readonly<Partial<Record<keyof LedgerIdentity, string>>>

/** Refuses an identity that contradicts the stored one. Values that are not stored yet contradict nothing. */
export function checkIdentity(file: string, remembered: Remembered, identity: LedgerIdentity): void {
  const { network, fingerprint, service, genesis } = remembered
  const made = `The ledger ${file}, created by the service "${service ?? identity.service}",`
  if (network !== undefined && network !== identity.network) {
    throw new LedgerConfigurationError(
      `${made} holds payments of ${network}, not of ${identity.network}`,
      'use one ledger per network',
    )
  }
  // Checked before the secret: each local chain has its own secret, so the ledger of another chain differs in both.
  if (genesis !== undefined && identity.genesis !== undefined && genesis !== identity.genesis) {
    throw new LedgerConfigurationError(
      `${made} belongs to another chain (genesis hash ${genesis}, not ${identity.genesis})`,
      'point the RPC nodes back at that chain',
      { orElse },
    )
  }
  if (fingerprint !== undefined && fingerprint !== identity.fingerprint) {
    throw new LedgerConfigurationError(
      `${made} was created with another root secret (fingerprint ${fingerprint}, not ${identity.fingerprint})`,
      'set PAYSTILE_SECRET to the keyring that created it',
      { orElse },
    )
  }
  const { reportToken } = identity
  if (reportToken !== undefined && remembered.reportToken !== undefined && remembered.reportToken !== reportToken) {
    throw new LedgerConfigurationError(
      `${made} keeps its reports in ${remembered.reportToken}, not in ${reportToken}`,
      `set reportToken back, or recompute them with npx paystile books rebuild --token ${reportToken}`,
    )
  }
}

/** Refuses a ledger with a newer schema than this version knows. */
export function checkVersion(file: string, version: number, latest: number): void {
  if (version <= latest) return
  throw new LedgerConfigurationError(
    `The ledger ${file} was written by a newer paystile (schema ${version}, this version supports ${latest})`,
    'run that version or a later one',
  )
}
