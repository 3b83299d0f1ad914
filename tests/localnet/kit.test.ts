import {
  type Address,
  address,
  airdropFactory,
  appendTransactionMessageInstructions,
  assertIsTransactionWithBlockhashLifetime,
  assertIsTransactionWithDurableNonceLifetime,
  type Blockhash,
  compileTransactionMessage,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  type FullySignedTransaction,
  getBase64Decoder,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageEncoder,
  getSignatureFromTransaction,
  type Instruction,
  isSolanaError,
  type KeyPairSigner,
  lamports,
  type Nonce,
  pipe,
  type Rpc,
  type RpcSubscriptions,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
  type SolanaRpcApi,
  type SolanaRpcSubscriptionsApi,
  sendAndConfirmDurableNonceTransactionFactory,
  sendAndConfirmTransactionFactory,
  setTransactionMessageConfig,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLifetimeUsingDurableNonce,
  signTransactionMessageWithSigners,
  type Transaction,
} from '@solana/kit'
import {
  fetchNonce,
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  getTransferSolInstruction,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system'
import {
  fetchMint,
  fetchToken,
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeMint2Instruction,
  getMintSize,
  getMintToInstruction,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { memo, newWallet } from './client.ts'

const sol = 1_000_000_000n

/** The three versions are three types; here they are all the same to us. */
const sign = signTransactionMessageWithSigners as unknown as (
  message: unknown,
) => Promise<FullySignedTransaction & Transaction>

describe('an unmodified @solana/kit', () => {
  let localnet: Localnet
  let rpc: Rpc<SolanaRpcApi>
  let rpcSubscriptions: RpcSubscriptions<SolanaRpcSubscriptionsApi>
  let payer: KeyPairSigner
  beforeAll(async () => {
    localnet = await startLocalnet({ slotMs: 25 })
    rpc = createSolanaRpc(localnet.rpcUrl)
    rpcSubscriptions = createSolanaRpcSubscriptions(localnet.wsUrl)
    payer = await newWallet()
    await airdropFactory({ rpc, rpcSubscriptions } as never)({
      recipientAddress: payer.address,
      lamports: lamports(100n * sol),
      commitment: 'confirmed',
    })
  })
  afterAll(() => localnet.close())

  async function message(instructions: readonly Instruction[], version: 'legacy' | 0 | 1 = 0) {
    const { value: lifetime } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send()
    return pipe(
      createTransactionMessage({ version }),
      (empty) => setTransactionMessageFeePayerSigner(payer, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
      (lived) =>
        version === 1
          ? setTransactionMessageConfig(
              { computeUnitLimit: 100_000, loadedAccountsDataSizeLimit: 500_000 },
              lived as never,
            )
          : lived,
      (configured) => appendTransactionMessageInstructions(instructions, configured as never),
    ) as never
  }

  async function confirm(instructions: readonly Instruction[], version: 'legacy' | 0 | 1 = 0) {
    const transaction = await sign(await message(instructions, version))
    assertIsTransactionWithBlockhashLifetime(transaction)
    await sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })(transaction as never, { commitment: 'confirmed' })
    return getSignatureFromTransaction(transaction)
  }

  const pay = (to: Address, amount: bigint) =>
    getTransferSolInstruction({ source: payer, destination: to, amount: lamports(amount) }) as Instruction

  it('has its airdrop', async () => {
    expect((await rpc.getBalance(payer.address, { commitment: 'confirmed' }).send()).value).toBe(100n * sol)
  })

  it.each(['legacy', 0, 1] as const)('sends version %s and confirms it', async (version) => {
    const payee = await newWallet()
    const signature = await confirm([pay(payee.address, sol)], version)
    const options = { commitment: 'confirmed', maxSupportedTransactionVersion: 1 } as const
    const found = await rpc.getTransaction(signature, { ...options, encoding: 'json' }).send()
    expect(found).toMatchObject({ version, meta: { err: null, fee: 5_000n } })
    const parsed = await rpc.getTransaction(signature, { ...options, encoding: 'jsonParsed' }).send()
    expect(parsed?.transaction.message.instructions[0]).toMatchObject({
      program: 'system',
      parsed: { type: 'transfer', info: { destination: payee.address, lamports: sol } },
    })
    expect((await rpc.getBalance(payee.address, { commitment: 'confirmed' }).send()).value).toBe(sol)
  })

  it('makes a mint, holders and transfers, and reads them back', async () => {
    const [mint, payee] = [await newWallet(), await newWallet()]
    const rent = await rpc.getMinimumBalanceForRentExemption(BigInt(getMintSize())).send()
    const [from] = await findAssociatedTokenPda({
      owner: payer.address,
      mint: mint.address,
      tokenProgram: TOKEN_PROGRAM_ADDRESS,
    })
    const [to] = await findAssociatedTokenPda({
      owner: payee.address,
      mint: mint.address,
      tokenProgram: TOKEN_PROGRAM_ADDRESS,
    })
    const holder = (ata: Address, owner: Address) =>
      getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner, mint: mint.address }) as Instruction
    await confirm([
      getCreateAccountInstruction({
        payer,
        newAccount: mint,
        lamports: rent,
        space: getMintSize(),
        programAddress: TOKEN_PROGRAM_ADDRESS,
      }) as Instruction,
      getInitializeMint2Instruction({ mint: mint.address, decimals: 6, mintAuthority: payer.address }) as Instruction,
      holder(from, payer.address),
      holder(to, payee.address),
      getMintToInstruction({
        mint: mint.address,
        token: from,
        mintAuthority: payer,
        amount: 1_000_000n,
      }) as Instruction,
    ])
    await confirm([
      getTransferCheckedInstruction({
        source: from,
        mint: mint.address,
        destination: to,
        authority: payer,
        amount: 10_000n,
        decimals: 6,
      }) as Instruction,
      memo('rid-42'),
    ])
    expect((await fetchToken(rpc, to)).data).toMatchObject({
      mint: mint.address,
      owner: payee.address,
      amount: 10_000n,
    })
    expect((await fetchMint(rpc, mint.address)).data).toMatchObject({ supply: 1_000_000n, decimals: 6 })
    const balance = await rpc.getTokenAccountBalance(to, { commitment: 'confirmed' }).send()
    expect(balance.value).toEqual({ amount: '10000', decimals: 6, uiAmount: 0.01, uiAmountString: '0.01' })
    const [latest] = await rpc.getSignaturesForAddress(to, { commitment: 'confirmed', limit: 1 }).send()
    expect(latest).toMatchObject({ memo: '[6] rid-42', err: null })
  })

  it('lives by a durable nonce', async () => {
    const nonce = await newWallet()
    const rent = await rpc.getMinimumBalanceForRentExemption(80n).send()
    await confirm([
      getCreateAccountInstruction({
        payer,
        newAccount: nonce,
        lamports: rent,
        space: 80n,
        programAddress: SYSTEM_PROGRAM_ADDRESS,
      }) as Instruction,
      getInitializeNonceAccountInstruction({
        nonceAccount: nonce.address,
        nonceAuthority: payer.address,
      }) as Instruction,
    ])
    const { data } = await fetchNonce(rpc, nonce.address)
    const built = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(payer, empty),
      (paid) =>
        setTransactionMessageLifetimeUsingDurableNonce(
          {
            nonce: data.blockhash as string as Nonce,
            nonceAccountAddress: nonce.address,
            nonceAuthorityAddress: payer.address,
          },
          paid,
        ),
      (lived) => appendTransactionMessageInstructions([memo('durable')], lived),
    )
    const transaction = await signTransactionMessageWithSigners(built)
    assertIsTransactionWithDurableNonceLifetime(transaction)
    await sendAndConfirmDurableNonceTransactionFactory({ rpc, rpcSubscriptions })(transaction as never, {
      commitment: 'confirmed',
    })
    expect((await fetchNonce(rpc, nonce.address)).data.blockhash).not.toBe(data.blockhash)
  })

  it('reads a failed preflight as its own error', async () => {
    const payee = await newWallet()
    const failed = confirm([pay(payee.address, 1_000_000n * sol)])
    await expect(failed).rejects.toSatisfy((error) =>
      isSolanaError(error, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE),
    )
  })

  it('simulates, and computes the fee of a message', async () => {
    const payee = await newWallet()
    const unsigned = await message([pay(payee.address, sol)])
    const signed = await sign(unsigned)
    const wire = getBase64EncodedWireTransaction(signed)
    const { value } = await rpc
      .simulateTransaction(wire, { encoding: 'base64', commitment: 'confirmed', sigVerify: true })
      .send()
    expect(value).toMatchObject({ err: null, unitsConsumed: 150n, fee: 5_000n })
    const bytes = getCompiledTransactionMessageEncoder().encode(compileTransactionMessage(unsigned))
    const cost = await rpc
      .getFeeForMessage(getBase64Decoder().decode(bytes) as never, { commitment: 'confirmed' })
      .send()
    expect(cost.value).toBe(5_000n)
  })

  it('hears of accounts, logs and slots', async () => {
    const payee = await newWallet()
    const abort = new AbortController()
    const options = { abortSignal: abort.signal }
    const accounts = await rpcSubscriptions
      .accountNotifications(payee.address, { commitment: 'confirmed', encoding: 'base64' })
      .subscribe(options)
    const logs = await rpcSubscriptions
      .logsNotifications({ mentions: [payee.address] }, { commitment: 'confirmed' })
      .subscribe(options)
    const slots = await rpcSubscriptions.slotNotifications().subscribe(options)
    // What comes before somebody asks for it is not kept, so ask first.
    const next = async <T>(of: AsyncIterable<T>) => (await of[Symbol.asyncIterator]().next()).value as T
    const heard = [next(accounts), next(logs), next(slots)] as const
    const signature = await confirm([pay(payee.address, sol)])
    const [account, log, slot] = await Promise.all(heard)
    expect(account.value.lamports).toBe(sol)
    expect(log.value.signature).toBe(signature)
    expect(slot.slot).toBeGreaterThan(0n)
    abort.abort()
  })

  it('reads accounts in every encoding, and the facts of the cluster', async () => {
    const usdc = address(localnet.mints.USDC?.address ?? '')
    for (const encoding of ['base58', 'base64', 'base64+zstd', 'jsonParsed'] as const) {
      const { value } = await rpc.getAccountInfo(usdc, { encoding, commitment: 'confirmed' } as never).send()
      expect(value).toMatchObject({ owner: TOKEN_PROGRAM_ADDRESS, space: 82n })
    }
    expect(await rpc.getGenesisHash().send()).toBe(localnet.genesisHash)
    expect(await rpc.getVersion().send()).toHaveProperty('solana-core')
    const info = await rpc.getEpochInfo({ commitment: 'processed' }).send()
    expect(info.slotsInEpoch).toBe(432_000n)
    const { value } = await rpc.getLatestBlockhash().send()
    expect((await rpc.isBlockhashValid(value.blockhash as Blockhash, { commitment: 'confirmed' }).send()).value).toBe(
      true,
    )
    const recent = await rpc.getRecentPrioritizationFees().send()
    expect(recent.length).toBeGreaterThan(1)
    const block = await rpc
      .getBlock(info.absoluteSlot - 2n, { commitment: 'confirmed', maxSupportedTransactionVersion: 0 } as never)
      .send()
    expect(block).toMatchObject({ parentSlot: info.absoluteSlot - 3n })
  })
})
