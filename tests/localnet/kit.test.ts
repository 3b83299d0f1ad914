import {
  appendTransactionMessageInstructions,
  assertIsTransactionWithBlockhashLifetime,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  generateKeyPairSigner,
  getSignatureFromTransaction,
  lamports,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import {
  Connection,
  Keypair,
  LAMPORTS_PER_SOL,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
} from '@solana/web3.js'
import { getTransferSolInstruction } from '@solana-program/system'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'

describe('first slice', () => {
  let localnet: Localnet
  beforeAll(async () => {
    localnet = await startLocalnet({ slotMs: 50 })
  })
  afterAll(() => localnet.close())

  it('kit sends and confirms', async () => {
    const rpc = createSolanaRpc(localnet.rpcUrl)
    const rpcSubscriptions = createSolanaRpcSubscriptions(localnet.wsUrl)
    const payer = await generateKeyPairSigner()
    const payee = await generateKeyPairSigner()
    await localnet.fund(payer.address, { SOL: 1_000_000_000n })
    const { value: blockhash } = await rpc.getLatestBlockhash().send()
    const transaction = await pipe(
      createTransactionMessage({ version: 0 }),
      (m) => setTransactionMessageFeePayerSigner(payer, m),
      (m) => setTransactionMessageLifetimeUsingBlockhash(blockhash, m),
      (m) =>
        appendTransactionMessageInstructions(
          [getTransferSolInstruction({ source: payer, destination: payee.address, amount: lamports(900_000_000n) })],
          m,
        ),
      (m) => signTransactionMessageWithSigners(m),
    )
    assertIsTransactionWithBlockhashLifetime(transaction)
    await sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })(transaction, { commitment: 'confirmed' })
    const found = await rpc
      .getTransaction(getSignatureFromTransaction(transaction), {
        commitment: 'confirmed',
        encoding: 'json',
        maxSupportedTransactionVersion: 0,
      })
      .send()
    expect(found?.meta?.fee).toBe(5000n)
    expect((await rpc.getBalance(payee.address, { commitment: 'confirmed' }).send()).value).toBe(900_000_000n)
  })

  it('web3.js airdrops, sends and confirms', async () => {
    const connection = new Connection(localnet.rpcUrl, 'confirmed')
    const payer = Keypair.generate()
    const payee = Keypair.generate()
    const airdrop = await connection.requestAirdrop(payer.publicKey, 2 * LAMPORTS_PER_SOL)
    await connection.confirmTransaction({ signature: airdrop, ...(await connection.getLatestBlockhash()) })
    const transaction = new Transaction().add(
      SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: payee.publicKey, lamports: LAMPORTS_PER_SOL }),
    )
    const signature = await sendAndConfirmTransaction(connection, transaction, [payer])
    expect(await connection.getBalance(payee.publicKey)).toBe(LAMPORTS_PER_SOL)
    expect((await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 }))?.meta?.err).toBeNull()
  })
})
