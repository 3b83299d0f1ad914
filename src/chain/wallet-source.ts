/** Keys in the forms in which programs have them, made into wallets. */
import type { KeySource, Wallet } from './keypair.ts'
import { createWallet } from './keypair.ts'
import { isKitSigner, walletFromSigner } from './signer.ts'

/** Throws a `TypeError` in one sentence when it cannot sign. */
export async function walletFrom(source: unknown): Promise<Wallet> {
  if (typeof source !== 'object' || source === null) throw notAKey()
  if ('signTransaction' in source && 'address' in source) return source as Wallet
  if ('keyPair' in source || 'secretKey' in source || ArrayBuffer.isView(source) || Array.isArray(source)) {
    return createWallet(source as KeySource)
  }
  if (isKitSigner(source)) return walletFromSigner(source)
  throw notAKey()
}

function notAKey(): TypeError {
  return new TypeError('it must be the path of a key file, 64 secret bytes, a kit signer, a Keypair or a wallet')
}
