/** The wallet of an agent, in a key file. */
import { join } from 'node:path'
import { createWallet, type Wallet } from '../chain/keys/keypair.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import { nearest } from '../core/errors/suggest.ts'
import { homeDirectory } from '../host/home.ts'
import { makeKeyFile, withKeyFile } from '../host/keys/key-file.ts'

export interface AgentWallet extends Wallet {
  readonly path: string
  /** True if this call created the file. */
  readonly created: boolean
}

export interface AgentWalletOptions {
  /** The key file. Default: `PAYSTILE_WALLET`, or `wallet.json` in `PAYSTILE_HOME` (`~/.paystile`). */
  readonly path?: string
  /** False refuses to create a wallet if there is none. */
  readonly create?: boolean
  /**
   * Passphrase of an encrypted key file. A new file is encrypted with it. Default: `PAYSTILE_KEY_PASSPHRASE`, for
   * opening only.
   */
  readonly passphrase?: string
}

const optionNames: readonly string[] = ['path', 'create', 'passphrase'] satisfies (keyof AgentWalletOptions)[]

/** Without this check, a path that is not read as one would select the usual wallet, and spend its money. */
function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`initAgentWallet: takes an object; write initAgentWallet({ path: 'wallet.json' }).`)
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name))
  if (unknown !== undefined) {
    const guess = nearest(unknown, optionNames)
    throw new TypeError(`initAgentWallet: ${unknown} is not an option${guess ? ` (did you mean ${guess}?)` : ''}.`)
  }
  const { path, create, passphrase } = options as AgentWalletOptions
  if (path !== undefined && (typeof path !== 'string' || path === ''))
    throw new TypeError('initAgentWallet: path must be the name of a file.')
  if (create !== undefined && typeof create !== 'boolean')
    throw new TypeError('initAgentWallet: create must be true or false.')
  if (passphrase !== undefined && typeof passphrase !== 'string')
    throw new TypeError('initAgentWallet: passphrase must be a text.')
}

export function agentWalletPath(): string {
  return process.env['PAYSTILE_WALLET'] || join(homeDirectory(), 'wallet.json')
}

/**
 * Initializes the wallet of an agent or bot: loads its key file, or creates one.
 *
 * A new wallet is empty. On a localnet, `npx paystile faucet` fills it.
 *
 * @example
 * const wallet = await initAgentWallet()
 * const response = await fetchWith402('https://api.example.com/report', { wallet, tokens: ['USDC'] })
 */
export async function initAgentWallet(options: AgentWalletOptions = {}): Promise<AgentWallet> {
  checkOptions(options)
  const path = options.path ?? agentWalletPath()
  const created = options.create !== false && createKeyFile(path, options.passphrase)
  const wallet = await withKeyFile(path, createWallet, options.passphrase).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : error
    throw new PaystileError('key_unusable', `The key file ${path} cannot be used: ${why}.`)
  })
  return { ...wallet, path, created }
}

function createKeyFile(path: string, passphrase: string | undefined): boolean {
  try {
    return makeKeyFile(path, passphrase)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    const why = `The key file ${path} cannot be created (${code}). Choose another path.`
    throw new PaystileError('key_unusable', why, { cause: error })
  }
}
