/** A wallet without a key, for commands that only read. */
import type { Wallet } from '../chain/keys/keypair.ts'

export function watchOnly(address: string): Wallet {
  const refuse = async (): Promise<never> => {
    throw new TypeError('this wallet is read-only')
  }
  return { address, signTransaction: refuse, signMessage: refuse }
}
