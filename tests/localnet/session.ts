/**
 * One long conversation with a chain: every kind of transaction we care about, every method asked about it.
 *
 * It runs against the localnet and against surfpool with the same keys, so that all that may differ between the two
 * is what a chain makes up itself: hashes, slots, times.
 */
import { createHash } from 'node:crypto'
import {
  address,
  appendTransactionMessageInstruction,
  type Blockhash,
  createKeyPairSignerFromBytes,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  pipe,
  setTransactionMessageConfig,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type V1TransactionConfig,
} from '@solana/kit'
import {
  AuthorityType,
  createApproveInstruction,
  createAssociatedTokenAccountIdempotentInstruction,
  createBurnInstruction,
  createCloseAccountInstruction,
  createFreezeAccountInstruction,
  createInitializeMint2Instruction,
  createInitializeTransferFeeConfigInstruction,
  createMintToInstruction,
  createSetAuthorityInstruction,
  createSyncNativeInstruction,
  createThawAccountInstruction,
  createTransferCheckedInstruction,
  createTransferCheckedWithFeeInstruction,
  createTransferInstruction,
  ExtensionType,
  getAssociatedTokenAddressSync,
  getMintLen,
  NATIVE_MINT,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token'
import {
  AddressLookupTableAccount,
  AddressLookupTableProgram,
  ComputeBudgetProgram,
  Keypair,
  NONCE_ACCOUNT_LENGTH,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js'
import { getTransferSolInstruction } from '@solana-program/system'

export interface Chain {
  readonly rpcUrl: string
}

/** An answer under the name of the question. */
export type Transcript = Map<string, unknown>

const keys = Object.fromEntries(
  ['payer', 'payee', 'mint', 'mint2022', 'nonce', 'other', 'poor', 'delegate', 'sponsor'].map((name) => [
    name,
    Keypair.fromSeed(createHash('sha256').update(`session ${name}`).digest()),
  ]),
) as Record<'payer' | 'payee' | 'mint' | 'mint2022' | 'nonce' | 'other' | 'poor' | 'delegate' | 'sponsor', Keypair>

const memoProgram = new PublicKey('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')
const memoProgramV1 = new PublicKey('Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo')

function memo(text: string, program = memoProgram, signers: readonly PublicKey[] = []): TransactionInstruction {
  return new TransactionInstruction({
    programId: program,
    keys: signers.map((pubkey) => ({ pubkey, isSigner: true, isWritable: false })),
    data: Buffer.from(text),
  })
}

export interface Conversation {
  readonly transcript: Transcript
  /** Signatures by the name of their transaction. */
  readonly signatures: Map<string, string>
  /** The address of the lookup table, which depends on the slot it was made in. */
  table: string
}

export async function converse(chain: Chain): Promise<Conversation> {
  const session = createSession(chain)
  await moveSol(session)
  await moveTokens(session)
  await moveTaxedTokens(session)
  await useLookupTable(session)
  await useNonce(session)
  const build = await useVersion1(session)
  await failInManyWays(session)
  // Last, since surfpool does not take the price and balances differ from here on.
  const config = { computeUnitLimit: 1_000, loadedAccountsDataSizeLimit: 10_000, heapSize: 65_536 }
  await session.sendWire('v1 with a price', await build({ ...config, priorityFeeLamports: 99n }))
  await session.settle()
  await lookBack(session)
  await askForBlocks(session)
  await askAround(session)
  return session
}

interface Session extends Conversation {
  ask(name: string, method: string, params?: readonly unknown[]): Promise<unknown>
  /** Signs, sends without a preflight, and waits until it is confirmed. */
  send(name: string, instructions: readonly TransactionInstruction[], options?: SendOptions): Promise<string>
  wire(instructions: readonly TransactionInstruction[], options?: SendOptions): Promise<string>
  sendWire(name: string, wire: string): Promise<string>
  latestBlockhash(): Promise<string>
  rpc(method: string, params?: readonly unknown[]): Promise<{ result?: unknown; error?: unknown }>
  /** Waits until the last transaction is final. */
  settle(): Promise<void>
}

interface SendOptions {
  readonly signers?: readonly Keypair[]
  readonly version?: 'legacy' | 0
  readonly tables?: readonly AddressLookupTableAccount[]
  readonly blockhash?: string
}

const { payer, payee, mint, mint2022, nonce, other, poor, delegate } = keys

function createSession(chain: Chain): Session {
  const transcript: Transcript = new Map()
  const signatures = new Map<string, string>()
  let serial = 0

  async function rpc(method: string, params: readonly unknown[] = []): Promise<{ result?: unknown; error?: unknown }> {
    const response = await fetch(chain.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++serial, method, params }),
    })
    return JSON.parse(await response.text())
  }

  async function latestBlockhash(): Promise<string> {
    const { result } = await rpc('getLatestBlockhash', [{ commitment: 'confirmed' }])
    return (result as { value: { blockhash: string } }).value.blockhash
  }

  async function sign(
    instructions: readonly TransactionInstruction[],
    options: SendOptions,
  ): Promise<VersionedTransaction> {
    const { signers = [payer], version = 'legacy', tables = [] } = options
    const recentBlockhash = options.blockhash ?? (await latestBlockhash())
    const [feePayer] = signers as [Keypair]
    const message = new TransactionMessage({
      payerKey: feePayer.publicKey,
      recentBlockhash,
      instructions: [...instructions],
    })
    const compiled = version === 0 ? message.compileToV0Message([...tables]) : message.compileToLegacyMessage()
    const transaction = new VersionedTransaction(compiled)
    transaction.sign([...signers])
    return transaction
  }

  async function status(signature: string): Promise<string | undefined> {
    const { result } = await rpc('getSignatureStatuses', [[signature]])
    return (result as { value: ({ confirmationStatus: string } | null)[] }).value[0]?.confirmationStatus
  }

  async function reached(signature: string, ...wanted: string[]): Promise<void> {
    for (let attempt = 0; attempt < 500; attempt++) {
      if (wanted.includes((await status(signature)) ?? '')) return
      await new Promise((done) => setTimeout(done, 10))
    }
    throw new Error(`${signature} never became ${wanted[0]}`)
  }

  const session: Session = {
    transcript,
    signatures,
    table: '',
    rpc,
    async ask(name, method, params = []) {
      const { result, error } = await rpc(method, params)
      if (transcript.has(name)) throw new Error(`asked twice: ${name}`)
      transcript.set(name, error === undefined ? { result } : { error })
      return result
    },
    async wire(instructions, options = {}) {
      return Buffer.from((await sign(instructions, options)).serialize()).toString('base64')
    },
    async send(name, instructions, options = {}) {
      const transaction = await sign(instructions, options)
      return session.sendWire(name, Buffer.from(transaction.serialize()).toString('base64'))
    },
    latestBlockhash,
    async sendWire(name, wire) {
      const sent = await rpc('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }])
      if (typeof sent.result !== 'string') throw new Error(`${name} was not taken: ${JSON.stringify(sent)}`)
      signatures.set(name, sent.result)
      await reached(sent.result, 'confirmed', 'finalized')
      return sent.result
    },
    async settle() {
      await reached([...signatures.values()].at(-1) ?? '', 'finalized')
    },
  }
  return session
}

async function moveSol({ send, rpc, ask, signatures }: Session): Promise<void> {
  const airdrop = await rpc('requestAirdrop', [payer.publicKey.toBase58(), 100_000_000_000])
  signatures.set('airdrop', String(airdrop.result))
  await send('nothing much', [memo('warm up')])
  const pay = (to: PublicKey, lamports: number) =>
    SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports })
  await send('sol legacy', [pay(payee.publicKey, 1_000_000_000)])
  await send('sol v0', [pay(payee.publicKey, 2_000_000_000)], { version: 0 })
  await send('memos', [memo('first', memoProgramV1), memo('second ✓'), memo('signed', memoProgram, [payer.publicKey])])
  await send('priced', [
    ComputeBudgetProgram.setComputeUnitLimit({ units: 10_000 }),
    ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 123_456 }),
    pay(other.publicKey, 1_000_000_000),
  ])
  await send(
    'two signers',
    [SystemProgram.transfer({ fromPubkey: other.publicKey, toPubkey: payee.publicKey, lamports: 5_000 })],
    {
      signers: [payer, other],
    },
  )
  await send('seeded', [
    SystemProgram.createAccountWithSeed({
      fromPubkey: payer.publicKey,
      basePubkey: payer.publicKey,
      newAccountPubkey: await PublicKey.createWithSeed(payer.publicKey, 'seed', SystemProgram.programId),
      seed: 'seed',
      lamports: 2_000_000,
      space: 10,
      programId: SystemProgram.programId,
    }),
  ])
  await ask('balance', 'getBalance', [payee.publicKey.toBase58(), { commitment: 'confirmed' }])
}

async function moveTokens({ send }: Session): Promise<void> {
  const from = getAssociatedTokenAddressSync(mint.publicKey, payer.publicKey)
  const to = getAssociatedTokenAddressSync(mint.publicKey, payee.publicKey)
  const wrapped = getAssociatedTokenAddressSync(NATIVE_MINT, payer.publicKey)
  await send(
    'mint',
    [
      SystemProgram.createAccount({
        fromPubkey: payer.publicKey,
        newAccountPubkey: mint.publicKey,
        space: 82,
        lamports: 1_461_600,
        programId: TOKEN_PROGRAM_ID,
      }),
      createInitializeMint2Instruction(mint.publicKey, 6, payer.publicKey, payer.publicKey),
    ],
    { signers: [payer, mint] },
  )
  const create = (account: PublicKey, owner: PublicKey, of = mint.publicKey) =>
    createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, account, owner, of)
  await send('token accounts', [create(from, payer.publicKey), create(to, payee.publicKey)])
  await send('mint to', [createMintToInstruction(mint.publicKey, from, payer.publicKey, 1_000_000_000n)])
  await send('transfer checked', [
    createTransferCheckedInstruction(from, mint.publicKey, to, payer.publicKey, 10_000n, 6),
    memo('rid-1'),
  ])
  await send('transfer', [createTransferInstruction(from, to, payer.publicKey, 5n)])
  await send('approve', [createApproveInstruction(from, delegate.publicKey, payer.publicKey, 777n)])
  await send('burn', [createBurnInstruction(from, mint.publicKey, payer.publicKey, 1n)])
  await send('freeze and thaw', [
    createFreezeAccountInstruction(to, mint.publicKey, payer.publicKey),
    createThawAccountInstruction(to, mint.publicKey, payer.publicKey),
  ])
  await send('close authority', [
    createSetAuthorityInstruction(from, payer.publicKey, AuthorityType.CloseAccount, delegate.publicKey),
  ])
  await send('wrap', [
    create(wrapped, payer.publicKey, NATIVE_MINT),
    SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: wrapped, lamports: 5_000_000 }),
    createSyncNativeInstruction(wrapped),
  ])
  await send('unwrap', [createCloseAccountInstruction(wrapped, payee.publicKey, payer.publicKey)])
}

async function moveTaxedTokens({ send }: Session): Promise<void> {
  const size = getMintLen([ExtensionType.TransferFeeConfig])
  const program = TOKEN_2022_PROGRAM_ID
  const address = mint2022.publicKey
  const from = getAssociatedTokenAddressSync(address, payer.publicKey, false, program)
  const to = getAssociatedTokenAddressSync(address, payee.publicKey, false, program)
  await send(
    'mint 2022',
    [
      SystemProgram.createAccount({
        fromPubkey: payer.publicKey,
        newAccountPubkey: address,
        space: size,
        lamports: 3_000_000,
        programId: program,
      }),
      createInitializeTransferFeeConfigInstruction(address, payer.publicKey, payer.publicKey, 100, 5_000n, program),
      createInitializeMint2Instruction(address, 9, payer.publicKey, null, program),
    ],
    { signers: [payer, mint2022] },
  )
  const create = (account: PublicKey, owner: PublicKey) =>
    createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, account, owner, address, program)
  await send('token accounts 2022', [
    create(from, payer.publicKey),
    create(to, payee.publicKey),
    createMintToInstruction(address, from, payer.publicKey, 10n ** 18n, [], program),
  ])
  await send('transfer 2022', [
    createTransferCheckedInstruction(from, address, to, payer.publicKey, 100_000n, 9, [], program),
    createTransferCheckedWithFeeInstruction(from, address, to, payer.publicKey, 100_000n, 9, 1_000n, [], program),
  ])
}

async function useLookupTable(session: Session): Promise<void> {
  const { send, rpc, ask } = session
  const { result } = await rpc('getSlot', [{ commitment: 'confirmed' }])
  const [create, table] = AddressLookupTableProgram.createLookupTable({
    authority: payer.publicKey,
    payer: payer.publicKey,
    recentSlot: Number(result),
  })
  session.table = table.toBase58()
  const addresses = [payee.publicKey, other.publicKey, SystemProgram.programId]
  const extend = AddressLookupTableProgram.extendLookupTable({
    payer: payer.publicKey,
    authority: payer.publicKey,
    lookupTable: table,
    addresses,
  })
  await send('table', [create])
  await send('table extended', [extend])
  await send('one more slot', [memo('tables are usable in the next slot')])
  const state = { deactivationSlot: 2n ** 64n - 1n, lastExtendedSlot: 0, lastExtendedSlotStartIndex: 0, addresses }
  await send(
    'through the table',
    [SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: payee.publicKey, lamports: 7 })],
    {
      version: 0,
      tables: [new AddressLookupTableAccount({ key: table, state })],
    },
  )
  await ask('table parsed', 'getAccountInfo', [table.toBase58(), { encoding: 'jsonParsed', commitment: 'confirmed' }])
}

async function useNonce({ send, rpc, ask }: Session): Promise<void> {
  await send(
    'nonce',
    [
      SystemProgram.createAccount({
        fromPubkey: payer.publicKey,
        newAccountPubkey: nonce.publicKey,
        space: NONCE_ACCOUNT_LENGTH,
        lamports: 1_447_680,
        programId: SystemProgram.programId,
      }),
      SystemProgram.nonceInitialize({ noncePubkey: nonce.publicKey, authorizedPubkey: payer.publicKey }),
    ],
    { signers: [payer, nonce] },
  )
  const stored = async () => {
    const { result } = await rpc('getAccountInfo', [
      nonce.publicKey.toBase58(),
      { encoding: 'base64', commitment: 'confirmed' },
    ])
    const [data] = (result as { value: { data: [string, string] } }).value.data
    return new PublicKey(Buffer.from(data, 'base64').subarray(40, 72)).toBase58()
  }
  const advance = SystemProgram.nonceAdvance({ noncePubkey: nonce.publicKey, authorizedPubkey: payer.publicKey })
  await send('nonce used', [advance, memo('durable')], { blockhash: await stored() })
  await ask('nonce parsed', 'getAccountInfo', [
    nonce.publicKey.toBase58(),
    { encoding: 'jsonParsed', commitment: 'confirmed' },
  ])
}

/** web3.js cannot make these, so kit does. */
async function useVersion1(session: Session): Promise<(config: V1TransactionConfig) => Promise<string>> {
  const signer = await createKeyPairSignerFromBytes(payer.secretKey)
  const destination = address(payee.publicKey.toBase58())
  const build = async (config: V1TransactionConfig) => {
    const blockhash = (await session.latestBlockhash()) as Blockhash
    const message = pipe(
      createTransactionMessage({ version: 1 }),
      (empty) => setTransactionMessageFeePayerSigner(signer, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash({ blockhash, lastValidBlockHeight: 2n ** 40n }, paid),
      (lived) => setTransactionMessageConfig(config, lived),
      (configured) =>
        appendTransactionMessageInstruction(
          getTransferSolInstruction({ source: signer, destination, amount: 11n }),
          configured,
        ),
    )
    return getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(message))
  }
  await session.sendWire('v1', await build({ computeUnitLimit: 1_000, loadedAccountsDataSizeLimit: 10_000 }))
  return build
}

async function askForBlocks({ ask, rpc, signatures }: Session): Promise<void> {
  const confirmed = { commitment: 'confirmed' }
  const slotOf = async (name: string) => {
    const { result } = await rpc('getTransaction', [
      signatures.get(name),
      { ...confirmed, maxSupportedTransactionVersion: 1 },
    ])
    return (result as { slot: number }).slot
  }
  const slot = await slotOf('transfer checked')
  for (const transactionDetails of ['full', 'accounts', 'signatures', 'none']) {
    const config = { ...confirmed, transactionDetails, encoding: 'json', maxSupportedTransactionVersion: 0 }
    await ask(`block with ${transactionDetails}`, 'getBlock', [slot, config])
  }
  await ask('block without rewards', 'getBlock', [slot, { ...confirmed, transactionDetails: 'none', rewards: false }])
  await ask('block with v0 refused', 'getBlock', [await slotOf('sol v0'), confirmed])
  await ask('block to come', 'getBlock', [10_000_000, confirmed])
  const { result } = await rpc('getBlocks', [slot, slot + 3, confirmed])
  if (JSON.stringify(result) !== JSON.stringify([slot, slot + 1, slot + 2, slot + 3]))
    throw new Error('blocks are missing')
}

async function failInManyWays({ send, ask, wire }: Session): Promise<void> {
  const from = getAssociatedTokenAddressSync(mint.publicKey, payer.publicKey)
  const to = getAssociatedTokenAddressSync(mint.publicKey, payee.publicKey)
  const tooMuch = createTransferCheckedInstruction(from, mint.publicKey, to, payer.publicKey, 10n ** 18n, 6)
  await send('fails', [memo('still in the logs'), tooMuch])
  const base64 = { encoding: 'base64', preflightCommitment: 'confirmed' }
  await ask('preflight fails', 'sendTransaction', [await wire([tooMuch]), base64])
  const empty = { signers: [poor] }
  await ask('preflight without money', 'sendTransaction', [await wire([memo('x')], empty), base64])
  const old = { blockhash: payee.publicKey.toBase58() }
  await ask('preflight without blockhash', 'sendTransaction', [await wire([memo('x')], old), base64])
  const forged = Buffer.from(await wire([memo('y')]), 'base64')
  forged[10] = (forged[10] ?? 0) ^ 1
  await ask('preflight with a forged signature', 'sendTransaction', [forged.toString('base64'), base64])
  const dust = [SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: poor.publicKey, lamports: 1000 })]
  await ask('preflight leaves dust', 'sendTransaction', [await wire(dust), base64])
  const config = { encoding: 'base64', commitment: 'confirmed' }
  await ask('simulates', 'simulateTransaction', [
    await wire([createTransferInstruction(from, to, payer.publicKey, 5n)]),
    config,
  ])
  await ask('simulates with accounts', 'simulateTransaction', [
    await wire([createTransferInstruction(from, to, payer.publicKey, 5n)]),
    {
      ...config,
      innerInstructions: true,
      accounts: { encoding: 'base64', addresses: [from.toBase58(), to.toBase58()] },
    },
  ])
  await ask('simulates a failure', 'simulateTransaction', [await wire([tooMuch]), config])
  await ask('simulates with another blockhash', 'simulateTransaction', [
    await wire([memo('x')], old),
    { ...config, replaceRecentBlockhash: true },
  ])
  await ask('simulates unsigned', 'simulateTransaction', [forged.toString('base64'), config])
  const blank = Buffer.from(await wire([memo('z')]), 'base64').fill(0, 1, 65)
  await ask('simulates before it is signed', 'simulateTransaction', [
    blank.toString('base64'),
    { ...config, sigVerify: false, replaceRecentBlockhash: false },
  ])
  await ask('simulates with signatures checked', 'simulateTransaction', [
    forged.toString('base64'),
    { ...config, sigVerify: true },
  ])
}

async function lookBack({ ask, signatures }: Session): Promise<void> {
  for (const [name, signature] of signatures) {
    if (name === 'airdrop') continue
    const maxSupportedTransactionVersion = name.startsWith('v1') ? 1 : 0
    for (const encoding of ['json', 'jsonParsed', 'base64', 'base58']) {
      await ask(`${name} as ${encoding}`, 'getTransaction', [
        signature,
        { encoding, commitment: 'confirmed', maxSupportedTransactionVersion },
      ])
    }
  }
  await ask('legacy for an old client', 'getTransaction', [signatures.get('sol legacy'), 'json'])
  await ask('v0 for an old client', 'getTransaction', [signatures.get('sol v0'), { commitment: 'confirmed' }])
  await ask('v1 for a client of v0', 'getTransaction', [
    signatures.get('v1'),
    { commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
  ])
  const all = [...signatures.values()]
  await ask('statuses', 'getSignatureStatuses', [all, { searchTransactionHistory: true }])
  await ask('history of payee', 'getSignaturesForAddress', [payee.publicKey.toBase58(), { commitment: 'confirmed' }])
  await ask('history with limit', 'getSignaturesForAddress', [
    payee.publicKey.toBase58(),
    { commitment: 'confirmed', limit: 2 },
  ])
  await ask('history in between', 'getSignaturesForAddress', [
    payer.publicKey.toBase58(),
    { commitment: 'confirmed', before: signatures.get('mint'), until: signatures.get('sol legacy') },
  ])
  await ask('unknown transaction', 'getTransaction', ['1'.repeat(64), { commitment: 'confirmed' }])
  await ask('unknown status', 'getSignatureStatuses', [['1'.repeat(64)]])
}

async function askAround({ ask }: Session): Promise<void> {
  const confirmed = { commitment: 'confirmed' }
  const parsed = { encoding: 'jsonParsed', ...confirmed }
  const from = getAssociatedTokenAddressSync(mint.publicKey, payer.publicKey).toBase58()
  const to = getAssociatedTokenAddressSync(mint.publicKey, payee.publicKey).toBase58()
  const taxed = getAssociatedTokenAddressSync(
    mint2022.publicKey,
    payee.publicKey,
    false,
    TOKEN_2022_PROGRAM_ID,
  ).toBase58()
  for (const encoding of ['base58', 'base64', 'jsonParsed', 'base64+zstd']) {
    await ask(`wallet as ${encoding}`, 'getAccountInfo', [payee.publicKey.toBase58(), { encoding, ...confirmed }])
  }
  for (const [name, address] of Object.entries({
    'token account': to,
    'delegated account': from,
    'taxed account': taxed,
    mint: mint.publicKey.toBase58(),
    'mint 2022': mint2022.publicKey.toBase58(),
    nobody: poor.publicKey.toBase58(),
    'wrapped sol': NATIVE_MINT.toBase58(),
    'token program': TOKEN_PROGRAM_ID.toBase58(),
    rent: 'SysvarRent111111111111111111111111111111111',
    'epoch schedule': 'SysvarEpochSchedu1e111111111111111111111111',
  })) {
    await ask(`${name} parsed`, 'getAccountInfo', [address, parsed])
    await ask(`${name} raw`, 'getAccountInfo', [address, { encoding: 'base64', ...confirmed }])
  }
  await ask('sliced', 'getAccountInfo', [
    to,
    { encoding: 'base64', dataSlice: { offset: 32, length: 32 }, ...confirmed },
  ])
  await ask('too long for base58', 'getAccountInfo', [to, { encoding: 'base58', ...confirmed }])
  await ask('several', 'getMultipleAccounts', [[to, poor.publicKey.toBase58()], { encoding: 'base64', ...confirmed }])
  await ask('token balance', 'getTokenAccountBalance', [to, confirmed])
  await ask('taxed balance', 'getTokenAccountBalance', [taxed, confirmed])
  await ask('balance of a wallet', 'getTokenAccountBalance', [payee.publicKey.toBase58(), confirmed])
  await ask('balance of nobody', 'getTokenAccountBalance', [poor.publicKey.toBase58(), confirmed])
  await ask('supply', 'getTokenSupply', [mint.publicKey.toBase58(), confirmed])
  await ask('largest', 'getTokenLargestAccounts', [mint.publicKey.toBase58(), confirmed])
  const ofMint = { mint: mint.publicKey.toBase58() }
  const ofProgram = { programId: TOKEN_PROGRAM_ID.toBase58() }
  await ask('tokens by mint', 'getTokenAccountsByOwner', [
    payee.publicKey.toBase58(),
    ofMint,
    { encoding: 'base64', ...confirmed },
  ])
  await ask('tokens by program', 'getTokenAccountsByOwner', [payee.publicKey.toBase58(), ofProgram, parsed])
  await ask('tokens 2022', 'getTokenAccountsByOwner', [
    payee.publicKey.toBase58(),
    { programId: TOKEN_2022_PROGRAM_ID.toBase58() },
    parsed,
  ])
  await ask('tokens by delegate', 'getTokenAccountsByDelegate', [delegate.publicKey.toBase58(), ofProgram, parsed])
  await ask('program accounts', 'getProgramAccounts', [
    TOKEN_PROGRAM_ID.toBase58(),
    {
      encoding: 'base64',
      ...confirmed,
      filters: [{ dataSize: 165 }, { memcmp: { offset: 32, bytes: payee.publicKey.toBase58() } }],
    },
  ])
  for (const bytes of [0, 80, 82, 165, 10_000])
    await ask(`rent for ${bytes}`, 'getMinimumBalanceForRentExemption', [bytes])
  await ask('epoch schedule', 'getEpochSchedule')
  await ask('health', 'getHealth')
  await ask('bad method', 'getNothing')
  await ask('no parameters', 'getBalance', [])
  await ask('number for address', 'getBalance', [1])
  await ask('bad commitment', 'getBalance', [to, { commitment: 'sure' }])
  await ask('bad encoding', 'getAccountInfo', [to, { encoding: 'hex' }])
  await ask('future context', 'getBalance', [to, { minContextSlot: 10_000_000_000 }])
}
