/** Creates wallets from keys in all supported forms. */
import { type CreateSign, createWallet, type KeySource, type Wallet } from './keypair.ts'
import { isKitSigner, type KitSigner, walletFromSigner } from './signer.ts'

export type WalletSource = Wallet | KeySource | KitSigner

/** Undefined if the source cannot sign. Throws a `TypeError` for an invalid key. */
export async function readWallet(source: unknown, createSign?: CreateSign): Promise<Wallet | undefined> {
  if (typeof source !== 'object' || source === null) return undefined
  if ('signTransaction' in source && 'address' in source) return source as Wallet
  if ('keyPair' in source || 'secretKey' in source || ArrayBuffer.isView(source) || Array.isArray(source))
    return createWallet(source as KeySource, createSign)
  return isKitSigner(source) ? walletFromSigner(source) : undefined
}
