/** Transactions as a wallet could sign them that does as it likes. */
import {
  appendTransactionMessageInstructions,
  blockhash,
  createTransactionMessage,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import type { LocalnetFixture } from '../harness/localnet-fixture.ts'

/** Signed and not sent. */
export async function signedBytes(
  world: LocalnetFixture,
  instructions: readonly Instruction[],
  payer: KeyPairSigner,
): Promise<Uint8Array> {
  const { value } = await world.rpc<{ value: { blockhash: string; lastValidBlockHeight: number } }>(
    'getLatestBlockhash',
    [{ commitment: 'confirmed' }],
  )
  const lifetime = {
    blockhash: blockhash(value.blockhash),
    lastValidBlockHeight: BigInt(value.lastValidBlockHeight),
  }
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayerSigner(payer, draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
  )
  return new Uint8Array(getTransactionEncoder().encode(await signTransactionMessageWithSigners(message)))
}
