/** Kit signers with a key elsewhere: a browser wallet, a hardware device or a key service. */
import type { Address, MessagePartialSigner, TransactionModifyingSigner, TransactionPartialSigner } from '@solana/kit'
import { getTransactionDecoder, getTransactionEncoder } from '@solana/kit'
import type { Wallet } from './keypair.ts'

export type KitSigner = (TransactionPartialSigner | TransactionModifyingSigner) & Partial<MessagePartialSigner>

export function isKitSigner(value: object): value is KitSigner {
  return 'address' in value && ('signTransactions' in value || 'modifyAndSignTransactions' in value)
}

export function walletFromSigner(signer: KitSigner): Wallet {
  const { address } = signer
  return {
    address,
    canSignMessages: 'signMessages' in signer,
    signTransaction: async (bytes) => {
      const draft = getTransactionDecoder().decode(bytes)
      const [signed] =
        'modifyAndSignTransactions' in signer
          ? await signer.modifyAndSignTransactions([draft as never])
          : (await signer.signTransactions([draft as never])).map((added) => ({
              ...draft,
              signatures: { ...draft.signatures, ...added },
            }))
      if (!signed) throw new TypeError('the signer returned no signature')
      return new Uint8Array(getTransactionEncoder().encode(signed))
    },
    signMessage: async (content) => {
      if (!signer.signMessages) throw new TypeError('this signer cannot sign messages; use a claim instead')
      const [signatures] = await signer.signMessages([{ content, signatures: {} } as never])
      return readSignature(signatures, address)
    },
  }
}

function readSignature(signatures: Readonly<Record<string, unknown>> | undefined, address: Address): Uint8Array {
  const signature = signatures?.[address]
  if (!(signature instanceof Uint8Array)) throw new TypeError('the signer returned no signature')
  return new Uint8Array(signature)
}
