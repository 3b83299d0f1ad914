/** Anything that can sign, made into a wallet. */

import type { KeySource, Wallet } from '../chain/keypair.ts'
import { createWallet } from '../chain/keypair.ts'
import { readSignedTransaction } from '../chain/signed.ts'

/** A connected account of a browser wallet (Wallet Standard), as far as it matters here. */
export interface StandardWallet {
  readonly account: { readonly address: string; readonly publicKey: ArrayLike<number> }
  readonly wallet: { readonly features: Readonly<Record<string, unknown>> }
}

/** Throws a `TypeError` in one sentence when it cannot sign. */
export async function toWallet(source: Wallet | KeySource | StandardWallet): Promise<Wallet> {
  if (typeof source !== 'object' || source === null) throw notAWallet()
  if ('signTransaction' in source && 'address' in source) return source
  if ('account' in source) return fromStandard(source)
  if ('keyPair' in source || 'secretKey' in source || ArrayBuffer.isView(source) || Array.isArray(source)) {
    return createWallet(source)
  }
  throw notAWallet()
}

function notAWallet(): TypeError {
  return new TypeError('wallet must be what initAgentWallet() gives, a kit signer, a Keypair or 64 secret bytes.')
}

interface SignFeature {
  signTransaction(input: {
    account: unknown
    transaction: Uint8Array
  }): Promise<readonly { signedTransaction: Uint8Array }[]>
}
interface MessageFeature {
  signMessage(input: { account: unknown; message: Uint8Array }): Promise<readonly { signature: Uint8Array }[]>
}

function fromStandard({ account, wallet }: StandardWallet): Wallet {
  const signer = wallet.features['solana:signTransaction'] as SignFeature | undefined
  const writer = wallet.features['solana:signMessage'] as MessageFeature | undefined
  if (!signer) throw new TypeError('This browser wallet cannot sign Solana transactions; choose another one.')
  return {
    address: account.address,
    signTransaction: async (message) => {
      // One signature, still empty, before the message: the form in which wallets take transactions.
      const transaction = new Uint8Array(65 + message.length)
      transaction[0] = 1
      transaction.set(message, 65)
      const [output] = await signer.signTransaction({ account, transaction })
      return readSignedTransaction(output?.signedTransaction, message)
    },
    signMessage: async (message) => {
      if (!writer) throw new TypeError('This browser wallet cannot sign messages; use a claim instead.')
      const [output] = await writer.signMessage({ account, message })
      if (!output) throw new TypeError('The browser wallet gave no signature.')
      return output.signature
    },
  }
}
