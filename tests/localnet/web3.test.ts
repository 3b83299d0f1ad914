import {
  createInitializeMintInstruction,
  createInitializeTransferFeeConfigInstruction,
  createMint,
  ExtensionType,
  getAccount,
  getMint,
  getMintLen,
  getOrCreateAssociatedTokenAccount,
  getTransferFeeAmount,
  mintTo,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
  transferChecked,
  transferCheckedWithFee,
} from '@solana/spl-token'
import {
  AddressLookupTableProgram,
  Connection,
  Keypair,
  LAMPORTS_PER_SOL,
  NonceAccount,
  PublicKey,
  SendTransactionError,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'

describe('an unmodified @solana/web3.js', () => {
  let localnet: Localnet
  let connection: Connection
  const payer = Keypair.generate()
  beforeAll(async () => {
    localnet = await startLocalnet({ slotMs: 25 })
    connection = new Connection(localnet.rpcUrl, 'confirmed')
    // It uses a blockhash for 30 seconds. On a chain with such short slots, a blockhash is valid for less than 4.
    Object.assign(connection, { _disableBlockhashCaching: true })
    const signature = await connection.requestAirdrop(payer.publicKey, 100 * LAMPORTS_PER_SOL)
    await connection.confirmTransaction({ signature, ...(await connection.getLatestBlockhash()) })
  })
  afterAll(async () => {
    // Otherwise, it would look for the closed chain until the process ends: it opens its socket again at each close.
    const { _rpcWebSocket: socket } = connection as unknown as {
      readonly _rpcWebSocket: {
        close(): void
        setAutoReconnect(reconnects: boolean): void
        removeAllListeners(event: 'close'): void
      }
    }
    socket.setAutoReconnect(false)
    socket.removeAllListeners('close')
    socket.close()
    await localnet.close()
  })

  const pay = (to: PublicKey, lamports: number) =>
    SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports })
  const confirm = (...instructions: Transaction['instructions']) =>
    sendAndConfirmTransaction(connection, new Transaction().add(...instructions), [payer])

  it('sends, confirms, and reads it back in every form', async () => {
    const payee = Keypair.generate().publicKey
    const signature = await confirm(pay(payee, LAMPORTS_PER_SOL))
    expect(await connection.getBalance(payee)).toBe(LAMPORTS_PER_SOL)
    const raw = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 })
    expect(raw?.meta).toMatchObject({ err: null, fee: 5_000 })
    expect(raw?.transaction.message.getAccountKeys().get(1)?.equals(payee)).toBe(true)
    const parsed = await connection.getParsedTransaction(signature, { maxSupportedTransactionVersion: 0 })
    expect(parsed?.transaction.message.instructions[0]).toMatchObject({ parsed: { type: 'transfer' } })
    const block = await connection.getBlock(raw?.slot ?? 0, { maxSupportedTransactionVersion: 0 })
    expect(block?.transactions.some(({ transaction }) => transaction.signatures[0] === signature)).toBe(true)
    expect(await connection.getBlockTime(raw?.slot ?? 0)).toBe(raw?.blockTime)
    const [status] = (await connection.getSignatureStatuses([signature])).value
    expect(['confirmed', 'finalized']).toContain(status?.confirmationStatus)
  })

  it('works with tokens through spl-token', async () => {
    const owner = Keypair.generate()
    const mint = await createMint(connection, payer, payer.publicKey, null, 6)
    const from = await getOrCreateAssociatedTokenAccount(connection, payer, mint, payer.publicKey)
    const to = await getOrCreateAssociatedTokenAccount(connection, payer, mint, owner.publicKey)
    await mintTo(connection, payer, mint, from.address, payer, 1_000n)
    const signature = await transferChecked(connection, payer, from.address, mint, to.address, payer, 400n, 6)
    expect((await getAccount(connection, to.address)).amount).toBe(400n)
    expect((await getMint(connection, mint)).supply).toBe(1_000n)
    const parsed = await connection.getParsedTransaction(signature, { maxSupportedTransactionVersion: 0 })
    expect(parsed?.meta?.postTokenBalances?.map(({ owner: of, uiTokenAmount }) => [of, uiTokenAmount.amount])).toEqual(
      expect.arrayContaining([
        [payer.publicKey.toBase58(), '600'],
        [owner.publicKey.toBase58(), '400'],
      ]),
    )
    const owned = await connection.getParsedTokenAccountsByOwner(owner.publicKey, { programId: TOKEN_PROGRAM_ID })
    expect(owned.value[0]?.account.data.parsed.info.tokenAmount.amount).toBe('400')
    expect((await connection.getTokenLargestAccounts(mint)).value.map(({ amount }) => amount)).toEqual(['600', '400'])
  })

  it('pays the fee a Token-2022 mint asks for', async () => {
    const [mint, owner] = [Keypair.generate(), Keypair.generate()]
    const size = getMintLen([ExtensionType.TransferFeeConfig])
    const program = TOKEN_2022_PROGRAM_ID
    const create = SystemProgram.createAccount({
      fromPubkey: payer.publicKey,
      newAccountPubkey: mint.publicKey,
      space: size,
      lamports: await connection.getMinimumBalanceForRentExemption(size),
      programId: program,
    })
    const setFee = createInitializeTransferFeeConfigInstruction(
      mint.publicKey,
      payer.publicKey,
      payer.publicKey,
      100,
      10_000n,
      program,
    )
    const initialize = createInitializeMintInstruction(mint.publicKey, 9, payer.publicKey, null, program)
    await sendAndConfirmTransaction(connection, new Transaction().add(create, setFee, initialize), [payer, mint])
    const holder = (of: PublicKey) =>
      getOrCreateAssociatedTokenAccount(connection, payer, mint.publicKey, of, false, 'confirmed', {}, program)
    const [from, to] = [await holder(payer.publicKey), await holder(owner.publicKey)]
    await mintTo(connection, payer, mint.publicKey, from.address, payer, 1_000_000n, [], {}, program)
    await transferCheckedWithFee(
      connection,
      payer,
      from.address,
      mint.publicKey,
      to.address,
      payer,
      100_000n,
      9,
      1_000n,
      [],
      {},
      program,
    )
    const received = await getAccount(connection, to.address, 'confirmed', program)
    expect(received.amount).toBe(99_000n)
    expect(getTransferFeeAmount(received)?.withheldAmount).toBe(1_000n)
  })

  it('uses a lookup table', async () => {
    const payee = Keypair.generate().publicKey
    const [create, table] = AddressLookupTableProgram.createLookupTable({
      authority: payer.publicKey,
      payer: payer.publicKey,
      // A slot's own hash is not among those it sees.
      recentSlot: (await connection.getSlot()) - 1,
    })
    const extend = AddressLookupTableProgram.extendLookupTable({
      payer: payer.publicKey,
      authority: payer.publicKey,
      lookupTable: table,
      addresses: [payee, SystemProgram.programId],
    })
    await confirm(create, extend)
    localnet.advanceSlots(1)
    const { value: lookup } = await connection.getAddressLookupTable(table)
    expect(lookup?.state.addresses.map(String)).toEqual([payee.toBase58(), SystemProgram.programId.toBase58()])
    const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash()
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: blockhash,
      instructions: [pay(payee, LAMPORTS_PER_SOL)],
    }).compileToV0Message(lookup ? [lookup] : [])
    expect(message.staticAccountKeys.map(String)).not.toContain(payee.toBase58())
    const transaction = new VersionedTransaction(message)
    transaction.sign([payer])
    const signature = await connection.sendTransaction(transaction)
    await connection.confirmTransaction({ signature, blockhash, lastValidBlockHeight })
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 })
    expect(found?.meta?.loadedAddresses?.writable.map(String)).toEqual([payee.toBase58()])
    expect(found?.meta?.postBalances[2]).toBe(LAMPORTS_PER_SOL)
    const listed = await connection.getSignaturesForAddress(payee)
    expect(listed.map((one) => one.signature)).toEqual([signature])
  })

  it('makes and uses a nonce account', async () => {
    const nonce = Keypair.generate()
    const rent = await connection.getMinimumBalanceForRentExemption(80)
    const create = SystemProgram.createNonceAccount({
      fromPubkey: payer.publicKey,
      noncePubkey: nonce.publicKey,
      authorizedPubkey: payer.publicKey,
      lamports: rent,
    })
    await sendAndConfirmTransaction(connection, create, [payer, nonce])
    const read = async () =>
      NonceAccount.fromAccountData((await connection.getAccountInfo(nonce.publicKey))?.data ?? Buffer.alloc(0)).nonce
    const before = await read()
    const advance = SystemProgram.nonceAdvance({ noncePubkey: nonce.publicKey, authorizedPubkey: payer.publicKey })
    const transaction = new Transaction({
      feePayer: payer.publicKey,
      nonceInfo: { nonce: before, nonceInstruction: advance },
      minContextSlot: 0,
    })
    transaction.add(pay(Keypair.generate().publicKey, LAMPORTS_PER_SOL))
    await sendAndConfirmTransaction(connection, transaction, [payer])
    expect(await read()).not.toBe(before)
  })

  it('hears of accounts, logs, signatures and slots', async () => {
    const payee = Keypair.generate().publicKey
    const heard = <T>(start: (done: (value: T) => void) => number, stop: (id: number) => Promise<void>) =>
      new Promise<T>((resolve) => {
        const id = start((value) => {
          void stop(id)
          resolve(value)
        })
      })
    const account = heard<number>(
      (done) => connection.onAccountChange(payee, ({ lamports }) => done(lamports), 'confirmed'),
      (id) => connection.removeAccountChangeListener(id),
    )
    const logs = heard<string>(
      (done) => connection.onLogs(payee, ({ signature }) => done(signature), 'confirmed'),
      (id) => connection.removeOnLogsListener(id),
    )
    const slot = heard<number>(
      (done) => connection.onSlotChange((change) => done(change.slot)),
      (id) => connection.removeSlotChangeListener(id),
    )
    expect(await slot).toBeGreaterThan(0)
    // Subscriptions are set up in the background: pay until they are heard.
    const sent: string[] = []
    let hearing = true
    void Promise.all([account, logs]).then(() => {
      hearing = false
    })
    while (hearing) sent.push(await confirm(pay(payee, LAMPORTS_PER_SOL + sent.length)))
    expect(await account).toBeGreaterThanOrEqual(LAMPORTS_PER_SOL)
    expect(sent).toContain(await logs)
  })

  it('reads why a transaction failed', async () => {
    const failed = confirm(pay(Keypair.generate().publicKey, 1_000_000 * LAMPORTS_PER_SOL))
    await expect(failed).rejects.toBeInstanceOf(SendTransactionError)
    const simulated = await connection.simulateTransaction(
      new VersionedTransaction(
        new TransactionMessage({
          payerKey: payer.publicKey,
          recentBlockhash: PublicKey.default.toBase58(),
          instructions: [pay(Keypair.generate().publicKey, 1_000_000 * LAMPORTS_PER_SOL)],
        }).compileToLegacyMessage(),
      ),
      { replaceRecentBlockhash: true },
    )
    expect(simulated.value.err).toEqual({ InstructionError: [0, { Custom: 1 }] })
  })
})
