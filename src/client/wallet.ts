/** Creates a wallet from any source that can sign. */
import type { Wallet } from '../chain/keys/keypair.ts'
import { type WalletSource as ProgramWallet, readWallet } from '../chain/keys/wallet-source.ts'
import { decodeAddress } from '../core/encoding/base58.ts'

/** The used part of a connected account of a browser wallet (Wallet Standard). */
export interface StandardWallet {
  readonly account: { readonly address: string }
  readonly wallet: { readonly features: Readonly<Record<string, unknown>> }
}

export type WalletSource = ProgramWallet | StandardWallet

/** Throws a `TypeError` with one sentence if the source cannot sign. */
export async function toWallet(source: WalletSource): Promise<Wallet> {
  const wallet = (await readWallet(source)) ?? readStandard(source)
  if (wallet && decodeAddress(wallet.address)) return wallet
  if (wallet) throw new TypeError('wallet has no Solana address.')
  if (source instanceof Promise) throw new TypeError('wallet is a promise. Write await before initAgentWallet().')
  throw new TypeError('wallet must be the result of initAgentWallet(), a kit signer, a Keypair or 64 secret bytes.')
}

export function canSignMessages({ signMessage, canSignMessages = true }: Wallet): boolean {
  return canSignMessages && typeof signMessage === 'function'
}

interface TransactionFeature {
  signTransaction(input: {
    account: unknown
    transaction: Uint8Array
  }): Promise<readonly { signedTransaction: Uint8Array }[]>
}
interface MessageFeature {
  signMessage(input: { account: unknown; message: Uint8Array }): Promise<readonly { signature: Uint8Array }[]>
}

function readStandard(source: WalletSource): Wallet | undefined {
  if (typeof source !== 'object' || source === null || !('account' in source)) return undefined
  const { account, wallet }: { account: StandardWallet['account'] } & Partial<StandardWallet> = source
  const signer = wallet?.features?.['solana:signTransaction'] as TransactionFeature | undefined
  const writer = wallet?.features?.['solana:signMessage'] as MessageFeature | undefined
  if (!signer) throw new TypeError('This browser wallet cannot sign Solana transactions. Choose another one.')
  return {
    address: account.address,
    canSignMessages: writer !== undefined,
    signTransaction: async (transaction) => {
      const [output] = await signer.signTransaction({ account, transaction })
      return output?.signedTransaction ?? new Uint8Array()
    },
    signMessage: async (message) => {
      if (!writer) throw new TypeError('This browser wallet cannot sign messages. Use a claim instead.')
      const [output] = await writer.signMessage({ account, message })
      return output?.signature ?? new Uint8Array()
    },
  }
}
