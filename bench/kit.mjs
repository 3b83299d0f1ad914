// Bare transfers with kit: build, sign, send and confirm, one transfer in each transaction.
import {
  address,
  appendTransactionMessageInstructions,
  assertIsTransactionWithBlockhashLifetime,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  getSignatureFromTransaction,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signature,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { findAssociatedTokenPda, getTransferCheckedInstruction } from '@solana-program/token'

const memoProgram = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')

/**
 * @param {import('./setting.mjs').Localnet} localnet
 * @param {'USDC' | 'NATIVE'} token
 * @param {Uint8Array} key
 */
export async function createKitSender({ rpcUrl, wsUrl, mints }, token, key) {
  const found = mints[token]
  if (!found) throw new Error(`The localnet has no ${token}.`)
  const signer = await createKeyPairSignerFromBytes(key)
  const rpc = createSolanaRpc(rpcUrl)
  const rpcSubscriptions = createSolanaRpcSubscriptions(wsUrl)
  const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })
  const mint = address(found.address)
  const tokenProgram = address(found.tokenProgram)
  const findAccount = async (/** @type {string} */ owner) =>
    (await findAssociatedTokenPda({ owner: address(owner), mint, tokenProgram }))[0]
  const source = await findAccount(signer.address)
  return {
    /**
     * Transfers to a wallet. Returns the signature once it is confirmed.
     *
     * @param {string} owner
     * @param {bigint} amount
     * @param {string} [memo]
     */
    async send(owner, amount, memo) {
      const { value: lifetime } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send()
      const destination = await findAccount(owner)
      const transfer = getTransferCheckedInstruction(
        { source, mint, destination, authority: signer, amount, decimals: found.decimals },
        { programAddress: tokenProgram },
      )
      const instructions = memo
        ? [{ programAddress: memoProgram, data: new TextEncoder().encode(memo) }, transfer]
        : [transfer]
      const message = pipe(
        createTransactionMessage({ version: 0 }),
        (draft) => setTransactionMessageFeePayerSigner(signer, draft),
        (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
        (draft) => appendTransactionMessageInstructions(instructions, draft),
      )
      const signed = await signTransactionMessageWithSigners(message)
      assertIsTransactionWithBlockhashLifetime(signed)
      await sendAndConfirm(signed, { commitment: 'confirmed' })
      return getSignatureFromTransaction(signed)
    },
    /**
     * The sum of the fees of transactions, in lamports.
     *
     * @param {readonly string[]} signatures
     */
    async sumFees(signatures) {
      const config = /** @type {const} */ ({
        maxSupportedTransactionVersion: 0,
        commitment: 'confirmed',
        encoding: 'json',
      })
      let fees = 0
      for (const one of signatures) {
        const found = await rpc.getTransaction(signature(one), config).send()
        fees += Number(found?.meta?.fee ?? Number.NaN)
      }
      return fees
    },
  }
}
