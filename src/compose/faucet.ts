/** Joins the source of test money: the local chain's own faucet, or to a key that mints on a test network. */
import type { Wallet } from '../chain/keys/keypair.ts'
import { readWallet } from '../chain/keys/wallet-source.ts'
import { readGenesis } from '../chain/rpc/genesis.ts'
import type { Rpc } from '../chain/rpc/rpc.ts'
import { createMinter } from '../chain/wallets/test-mints.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import type { Network } from '../core/money/tokens.ts'
import { genesisHashes } from '../core/money/tokens.ts'
import type { Clock, Transport } from '../core/runtime.ts'
import { withKeyFile } from '../host/keys/key-file.ts'
import type { AccountKey } from '../paywall/config/kinds.ts'
import type { FaucetOptions, FaucetSource, Give } from '../paywall/runtime/faucet-source.ts'

/** What a faucet needs of the service it belongs to. */
export interface FaucetSettings extends FaucetOptions {
  readonly network: Network
  /** The chain that every node has to name with every call. */
  readonly genesis: string
  readonly rpc: Rpc
  /** Addresses of the nodes, for the faucet that a localnet has beside its first one. */
  readonly urls: readonly string[]
  readonly transport: Transport
  readonly clock: Clock
}

const forwardMs = 5_000

/** Throws a `ConfigurationError` for a key that cannot be used, and on mainnet for any. */
export function openFaucetSource(settings: FaucetSettings): FaucetSource | undefined {
  const { network, genesis, rpc, faucetKey, mints, clock } = settings
  const isMainnet = network === 'mainnet' || genesis === genesisHashes.mainnet
  if (isMainnet && faucetKey !== undefined) {
    throw new ConfigurationError(['faucetKey: there is no faucet on mainnet; leave it out'])
  }
  if (isMainnet) return undefined
  if (faucetKey !== undefined) {
    const wallet = openKey(faucetKey)
    // Told to whoever asks for money.
    wallet.catch(() => {})
    const give: Give = async (order) => createMinter({ rpc, clock, genesis }, await wallet).give({ ...order, mints })
    return { kind: 'key', give }
  }
  return network === 'localnet' ? { kind: 'localnet', forward: (body) => forward(settings, body) } : undefined
}

/** A file is read now, so that the start is refused without it. */
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

/** The node is asked for its chain every time: at an address where a local chain ran there may be another today. */
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

/** A node that is no localnet of ours answers in another form. */
function isFaucetAnswer(text: string): boolean {
  try {
    const { signatures, error } = JSON.parse(text) as { readonly signatures?: unknown; readonly error?: unknown }
    return Array.isArray(signatures) || typeof error === 'string'
  } catch {
    return false
  }
}
