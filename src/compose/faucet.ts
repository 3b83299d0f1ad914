/** Connects the source of test tokens: the local chain's own faucet, or a key that mints on a test network. */

import type { Wallet } from '../chain/keys/keypair.ts'
import { readWallet } from '../chain/keys/wallet-source.ts'
import { readGenesis } from '../chain/rpc/genesis.ts'
import type { Rpc } from '../chain/rpc/rpc.ts'
import { createMinter } from '../chain/wallets/test-mints.ts'
import { parseFields } from '../core/encoding/fields.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { genesisHashes, type Network } from '../core/money/tokens.ts'
import type { Clock, Transport } from '../core/runtime.ts'
import { withKeyFile } from '../host/keys/key-file.ts'
import type { AccountKey } from '../paywall/config/kinds.ts'
import type { FaucetOptions, FaucetSource, Give } from '../paywall/runtime/faucet-source.ts'

/** The settings of a faucet from its service. */
export interface FaucetSettings extends FaucetOptions {
  readonly network: Network
  /** The genesis hash that every node must report with every call. */
  readonly genesis: string
  readonly rpc: Rpc
  /** Addresses of the nodes. A localnet has its faucet beside the first one. */
  readonly urls: readonly string[]
  readonly transport: Transport
  readonly clock: Clock
}

const forwardMs = 5_000

/** Throws a `ConfigurationError` for an unusable key, and on mainnet for any key. */
export function openFaucetSource(settings: FaucetSettings): FaucetSource | undefined {
  const { network, genesis, rpc, faucetKey, mints, clock } = settings
  const isMainnet = network === 'mainnet' || genesis === genesisHashes.mainnet
  if (isMainnet && faucetKey !== undefined)
    throw new ConfigurationError(['faucetKey: mainnet has no faucet; remove the option'])
  if (isMainnet) return undefined
  if (faucetKey !== undefined) {
    const wallet = openKey(faucetKey)
    // Each faucet request reports the error.
    wallet.catch(() => {})
    const give: Give = async (order) => createMinter({ rpc, clock, genesis }, await wallet).give({ ...order, mints })
    return { kind: 'key', give }
  }
  return network === 'localnet' ? { kind: 'localnet', forward: (body) => forward(settings, body) } : undefined
}

/** Reads a file at once, so that a missing file prevents the start. */
function openKey(key: AccountKey): Promise<Wallet> {
  try {
    return typeof key === 'string' ? withKeyFile(key, openWallet) : openWallet(key)
  } catch (error) {
    throw new ConfigurationError([`faucetKey: ${error instanceof Error ? error.message : 'cannot be read'}`])
  }
}

async function openWallet(source: unknown): Promise<Wallet> {
  const wallet = await readWallet(source)
  if (wallet) return wallet
  throw new TypeError('faucetKey must be the path of a key file, 64 secret bytes or a wallet')
}

/** Checks the chain of the node on every call: another chain may run at the address of a former localnet. */
export async function forward(
  { rpc, genesis, urls, transport }: Pick<FaucetSettings, 'rpc' | 'genesis' | 'urls' | 'transport'>,
  body: string,
) {
  const [url] = urls
  const named = await Promise.all(rpc.nodes.map(({ call }) => readGenesis(call)))
  if (url === undefined || named[0] !== genesis) return undefined
  const { signal } = new AbortController()
  const answer = await transport(`${url.replace(/\/$/, '')}/faucet`, body, { timeoutMs: forwardMs, signal })
  return isFaucetAnswer(answer.text) ? answer : undefined
}

/** A node that is not a paystile localnet responds in another form. */
function isFaucetAnswer(text: string): boolean {
  const { signatures, error } = parseFields(text) ?? {}
  return Array.isArray(signatures) || typeof error === 'string'
}
