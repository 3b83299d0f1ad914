/** What the attacks on a paywall are made of (THREATS 1A): this chain must be able to produce every one of them. */
import {
  AuthorityType,
  createApproveInstruction,
  createAssociatedTokenAccountIdempotentInstruction,
  createCloseAccountInstruction,
  createInitializeInterestBearingMintInstruction,
  createInitializeMint2Instruction,
  createInitializePermanentDelegateInstruction,
  createMintToInstruction,
  createSetAuthorityInstruction,
  createSyncNativeInstruction,
  createTransferCheckedInstruction,
  createTransferInstruction,
  ExtensionType,
  getAssociatedTokenAddressSync,
  getMintLen,
  NATIVE_MINT,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token'
import {
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { client, frozen } from './client.ts'

const sol = 1_000_000_000
const memoPrograms = [
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH',
]

let localnet: Localnet
let rpc: ReturnType<typeof client>
const [payer, recipient] = [Keypair.generate(), Keypair.generate()]
let usdc: PublicKey
let from: PublicKey
let to: PublicKey
beforeAll(async () => {
  localnet = await startLocalnet(frozen)
  rpc = client(localnet)
  usdc = new PublicKey(localnet.mints.USDC?.address ?? '')
  from = getAssociatedTokenAddressSync(usdc, payer.publicKey)
  to = getAssociatedTokenAddressSync(usdc, recipient.publicKey)
  await localnet.fund(payer.publicKey.toBase58(), { SOL: 100n * BigInt(sol), USDC: 1_000_000_000n })
  await localnet.fund(recipient.publicKey.toBase58(), { SOL: BigInt(sol), USDC: 0n })
})
afterAll(() => localnet.close())

interface Landed {
  readonly meta: {
    readonly err: unknown
    readonly fee: number
    readonly logMessages: string[]
    readonly preBalances: number[]
    readonly postBalances: number[]
    readonly preTokenBalances: {
      accountIndex: number
      mint: string
      owner: string
      uiTokenAmount: { amount: string }
    }[]
    readonly postTokenBalances: {
      accountIndex: number
      mint: string
      owner: string
      uiTokenAmount: { amount: string }
    }[]
    readonly innerInstructions: { index: number; instructions: { parsed?: { type: string } }[] }[]
  }
}

async function run(instructions: TransactionInstruction[], signers = [payer]): Promise<Landed> {
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: await rpc.blockhash(),
    instructions,
  }).compileToV0Message()
  const transaction = new VersionedTransaction(message)
  transaction.sign(signers)
  const wire = Buffer.from(transaction.serialize()).toString('base64')
  const { result, error } = await rpc.send(wire, { skipPreflight: true })
  if (error) throw new Error(error.message)
  localnet.advanceSlots(1)
  const config = { commitment: 'confirmed', maxSupportedTransactionVersion: 0, encoding: 'jsonParsed' }
  return rpc.get<Landed>('getTransaction', result, config)
}

/** What an owner gained of a mint, over all its accounts. */
function gain({ meta }: Landed, owner: PublicKey, mint: PublicKey): number {
  const sum = (list: Landed['meta']['preTokenBalances']) =>
    list
      .filter((one) => one.owner === owner.toBase58() && one.mint === mint.toBase58())
      .reduce((total, one) => total + Number(one.uiTokenAmount.amount), 0)
  return sum(meta.postTokenBalances) - sum(meta.preTokenBalances)
}

const memo = (data: string | Buffer, program = memoPrograms[1] as string, accounts: PublicKey[] = [], signed = true) =>
  new TransactionInstruction({
    programId: new PublicKey(program),
    keys: accounts.map((pubkey) => ({ pubkey, isSigner: signed, isWritable: false })),
    data: Buffer.from(data as string),
  })
const checked = (amount: bigint) => createTransferCheckedInstruction(from, usdc, to, payer.publicKey, amount, 6)

describe('payments', () => {
  it('T1: a failed payment leaves its memo in the logs and no money', async () => {
    const landed = await run([checked(10_000n), memo('rid'), checked(10n ** 18n)])
    expect(landed.meta.err).toEqual({ InstructionError: [2, { Custom: 1 }] })
    expect(landed.meta.logMessages.join('\n')).toContain('rid')
    expect(gain(landed, recipient.publicKey, usdc)).toBe(0)
  })

  it('T7: tokens go to an account of the recipient that is not its associated one', async () => {
    const other = Keypair.generate()
    const create = SystemProgram.createAccount({
      fromPubkey: payer.publicKey,
      newAccountPubkey: other.publicKey,
      space: 165,
      lamports: 2_039_280,
      programId: TOKEN_PROGRAM_ID,
    })
    const initialize = new TransactionInstruction({
      programId: TOKEN_PROGRAM_ID,
      keys: [
        { pubkey: other.publicKey, isSigner: false, isWritable: true },
        { pubkey: usdc, isSigner: false, isWritable: false },
      ],
      data: Buffer.concat([Buffer.of(18), recipient.publicKey.toBuffer()]),
    })
    const landed = await run(
      [create, initialize, createTransferInstruction(from, other.publicKey, payer.publicKey, 7n)],
      [payer, other],
    )
    expect(landed.meta.err).toBeNull()
    expect(gain(landed, recipient.publicKey, usdc)).toBe(7)
  })

  it('T8: the owner of an associated account can change under Token, not under Token-2022', async () => {
    const victim = Keypair.generate()
    await localnet.fund(victim.publicKey.toBase58(), { SOL: BigInt(sol), USDC: 0n })
    const account = getAssociatedTokenAddressSync(usdc, victim.publicKey)
    const give = createSetAuthorityInstruction(account, victim.publicKey, AuthorityType.AccountOwner, payer.publicKey)
    expect((await run([give], [payer, victim])).meta.err).toBeNull()
    const owned = await rpc.value<{ data: { parsed: { info: { owner: string } } } }>(
      'getAccountInfo',
      account.toBase58(),
      {
        encoding: 'jsonParsed',
        commitment: 'processed',
      },
    )
    expect(owned.data.parsed.info.owner).toBe(payer.publicKey.toBase58())
    const { mint, holder } = await mint2022([])
    const other = createSetAuthorityInstruction(
      holder,
      payer.publicKey,
      AuthorityType.AccountOwner,
      recipient.publicKey,
      [],
      TOKEN_2022_PROGRAM_ID,
    )
    expect((await run([other])).meta.err).toEqual({ InstructionError: [0, { Custom: 34 }] })
    expect(mint).toBeInstanceOf(PublicKey)
  })

  it('T10: a delegate pulls the payment back in the same transaction', async () => {
    await run([createApproveInstruction(to, payer.publicKey, recipient.publicKey, 10n ** 12n)], [payer, recipient])
    const back = createTransferCheckedInstruction(to, usdc, from, payer.publicKey, 10_000n, 6)
    const landed = await run([checked(10_000n), memo('rid'), back])
    expect(landed.meta.err).toBeNull()
    expect(gain(landed, recipient.publicKey, usdc)).toBe(0)
  })

  it('T11: a permanent delegate does the same, by the power of the mint', async () => {
    const { mint, holder } = await mint2022([ExtensionType.PermanentDelegate], (address) =>
      createInitializePermanentDelegateInstruction(address, payer.publicKey, TOKEN_2022_PROGRAM_ID),
    )
    const theirs = await hold(mint, recipient.publicKey)
    const move = (source: PublicKey, target: PublicKey) =>
      createTransferCheckedInstruction(source, mint, target, payer.publicKey, 500n, 9, [], TOKEN_2022_PROGRAM_ID)
    const landed = await run([move(holder, theirs), move(theirs, holder)])
    expect(landed.meta.err).toBeNull()
    expect(gain(landed, recipient.publicKey, mint)).toBe(0)
  })

  it('T12, T14: transfers to oneself and of nothing are valid', async () => {
    const self = createTransferCheckedInstruction(from, usdc, from, payer.publicKey, 10_000n, 6)
    expect((await run([self])).meta.err).toBeNull()
    expect((await run([checked(0n)])).meta.err).toBeNull()
  })

  it('T17: closing a wrapped account pays SOL without a System transfer', async () => {
    const wrapped = getAssociatedTokenAddressSync(NATIVE_MINT, payer.publicKey)
    const landed = await run([
      createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, wrapped, payer.publicKey, NATIVE_MINT),
      SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: wrapped, lamports: 5_000_000 }),
      createSyncNativeInstruction(wrapped),
    ])
    expect(landed.meta.err).toBeNull()
    const before = await rpc.balance(recipient.publicKey.toBase58())
    expect(
      (await run([createCloseAccountInstruction(wrapped, recipient.publicKey, payer.publicKey)])).meta.err,
    ).toBeNull()
    expect((await rpc.balance(recipient.publicKey.toBase58())) - before).toBe(7_039_280)
  })

  it('T19: transferWithSeed pays as well', async () => {
    const seeded = await PublicKey.createWithSeed(payer.publicKey, 'purse', SystemProgram.programId)
    await localnet.fund(seeded.toBase58(), { SOL: BigInt(sol) })
    const landed = await run([
      SystemProgram.transfer({
        fromPubkey: seeded,
        basePubkey: payer.publicKey,
        toPubkey: recipient.publicKey,
        lamports: 1_000,
        seed: 'purse',
        programId: SystemProgram.programId,
      }),
    ])
    expect(landed.meta.err).toBeNull()
  })

  it('T30, T37: unchecked transfers and mints name no mint or no payer', async () => {
    const landed = await run([createTransferInstruction(from, to, payer.publicKey, 3n)])
    expect(gain(landed, recipient.publicKey, usdc)).toBe(3)
    const { mint } = await mint2022([])
    const theirs = await hold(mint, recipient.publicKey)
    const minted = await run([createMintToInstruction(mint, theirs, payer.publicKey, 9n, [], TOKEN_2022_PROGRAM_ID)])
    expect(gain(minted, recipient.publicKey, mint)).toBe(9)
  })

  it('T36: interest makes the shown amount another than the held one', async () => {
    const { mint, holder } = await mint2022([ExtensionType.InterestBearingConfig], (address) =>
      createInitializeInterestBearingMintInstruction(address, payer.publicKey, 10_000, TOKEN_2022_PROGRAM_ID),
    )
    localnet.advance(365 * 24 * 3600)
    const shown = await rpc.value<{ amount: string; uiAmount: number }>('getTokenAccountBalance', holder.toBase58(), {
      commitment: 'processed',
    })
    expect(shown.amount).toBe('1000000')
    expect(shown.uiAmount / 0.001).toBeCloseTo(Math.E, 1)
    expect(mint).toBeInstanceOf(PublicKey)
  })
})

async function mint2022(
  extensions: ExtensionType[],
  ...setup: ((mint: PublicKey) => TransactionInstruction)[]
): Promise<{ mint: PublicKey; holder: PublicKey }> {
  const mint = Keypair.generate()
  const space = getMintLen(extensions)
  const landed = await run(
    [
      SystemProgram.createAccount({
        fromPubkey: payer.publicKey,
        newAccountPubkey: mint.publicKey,
        space,
        lamports: 10_000_000,
        programId: TOKEN_2022_PROGRAM_ID,
      }),
      ...setup.map((make) => make(mint.publicKey)),
      createInitializeMint2Instruction(mint.publicKey, 9, payer.publicKey, null, TOKEN_2022_PROGRAM_ID),
    ],
    [payer, mint],
  )
  expect(landed.meta.err).toBeNull()
  const holder = await hold(mint.publicKey, payer.publicKey)
  await run([createMintToInstruction(mint.publicKey, holder, payer.publicKey, 1_000_000n, [], TOKEN_2022_PROGRAM_ID)])
  return { mint: mint.publicKey, holder }
}

async function hold(mint: PublicKey, owner: PublicKey): Promise<PublicKey> {
  const account = getAssociatedTokenAddressSync(mint, owner, false, TOKEN_2022_PROGRAM_ID)
  const create = createAssociatedTokenAccountIdempotentInstruction(
    payer.publicKey,
    account,
    owner,
    mint,
    TOKEN_2022_PROGRAM_ID,
  )
  expect((await run([create])).meta.err).toBeNull()
  return account
}

describe('token balances', () => {
  it('are told only where a token program takes part', async () => {
    const landed = await run([SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports: 1_000 })])
    expect(landed.meta.err).toBeNull()
    expect([landed.meta.preTokenBalances, landed.meta.postTokenBalances]).toEqual([[], []])
  })

  it('leave out a token account that is called as a program', async () => {
    const call = new TransactionInstruction({
      programId: to,
      keys: [
        { pubkey: TOKEN_PROGRAM_ID, isSigner: false, isWritable: false },
        { pubkey: from, isSigner: false, isWritable: false },
      ],
      data: Buffer.alloc(1),
    })
    const landed = await run([call])
    expect(landed.meta.err).toBe('InvalidProgramForExecution')
    expect(landed.meta.postTokenBalances.map(({ owner }) => owner)).toEqual([payer.publicKey.toBase58()])
  })
})

describe('memos', () => {
  it.each(memoPrograms)(
    'T22, T23, T25: %s takes any text, also with a zero at its end, and no broken text',
    async (program) => {
      expect((await run([memo('hello', program)])).meta.err).toBeNull()
      expect((await run([memo('hello\0', program)])).meta.err).toBeNull()
      expect((await run([memo(Buffer.of(0xff, 0xfe), program)])).meta.err).not.toBeNull()
    },
  )

  it('T24: version 1 takes accounts that did not sign; later versions do not', async () => {
    const stranger = Keypair.generate().publicKey
    const outcomes = []
    for (const program of memoPrograms) outcomes.push((await run([memo('x', program, [stranger], false)])).meta.err)
    expect(outcomes).toEqual([
      null,
      { InstructionError: [0, 'MissingRequiredSignature'] },
      { InstructionError: [0, 'MissingRequiredSignature'] },
    ])
    expect((await run([memo('x', memoPrograms[1], [payer.publicKey])])).meta.err).toBeNull()
  })
})

describe('planted accounts and programs', () => {
  it('T6: a program of one’s own runs, at any address', async () => {
    const code = localnet.getAccount(memoPrograms[1] as string)?.data ?? new Uint8Array()
    const address = Keypair.generate().publicKey.toBase58()
    expect((await run([memo('not yet', address)])).meta.err).toBe('ProgramAccountNotFound')
    localnet.setProgram(address, code)
    expect((await run([memo('mine', address)])).meta.err).toBeNull()
    expect(() => localnet.setProgram(address, new Uint8Array(10))).toThrow()
    expect((await run([memo('still', address)])).meta.err).toBeNull()
  })

  it('deploys a program in the usual way, through the upgradeable loader', async () => {
    const [buffer, program] = [Keypair.generate(), Keypair.generate()]
    const loader = new PublicKey('BPFLoaderUpgradeab1e11111111111111111111111')
    const code = localnet.getAccount(memoPrograms[1] as string)?.data ?? new Uint8Array()
    const meta = (pubkey: PublicKey, isWritable: boolean, isSigner = false) => ({ pubkey, isWritable, isSigner })
    const load = (keys: TransactionInstruction['keys'], kind: number, ...fields: number[]) => {
      const data = Buffer.alloc(4 + 4 * fields.length)
      for (const [index, field] of [kind, ...fields].entries()) data.writeUInt32LE(field, 4 * index)
      return new TransactionInstruction({ programId: loader, keys, data })
    }
    const create = (account: Keypair, space: number, lamports: number) =>
      SystemProgram.createAccount({
        fromPubkey: payer.publicKey,
        newAccountPubkey: account.publicKey,
        space,
        lamports,
        programId: loader,
      })
    const succeed = async (instructions: TransactionInstruction[], signers: Keypair[]) =>
      expect((await run(instructions, signers)).meta.err).toBeNull()
    const open = load([meta(buffer.publicKey, true), meta(payer.publicKey, false)], 0)
    await succeed([create(buffer, 37 + code.length, sol), open], [payer, buffer])
    for (let at = 0; at < code.length; at += 800) {
      const chunk = code.subarray(at, at + 800)
      const write = load([meta(buffer.publicKey, true), meta(payer.publicKey, false, true)], 1, at, chunk.length, 0)
      write.data = Buffer.concat([write.data, chunk])
      await succeed([write], [payer])
    }
    const [codeAddress] = PublicKey.findProgramAddressSync([program.publicKey.toBuffer()], loader)
    const deploy = load(
      [
        meta(payer.publicKey, true, true),
        meta(codeAddress, true),
        meta(program.publicKey, true),
        meta(buffer.publicKey, true),
        meta(new PublicKey('SysvarRent111111111111111111111111111111111'), false),
        meta(new PublicKey('SysvarC1ock11111111111111111111111111111111'), false),
        meta(SystemProgram.programId, false),
        meta(payer.publicKey, false, true),
      ],
      2,
      code.length * 2,
      0,
    )
    await succeed([create(program, 36, 1_141_440), deploy], [payer, program])
    await succeed([memo('it runs', program.publicKey.toBase58())], [payer])
    expect(localnet.getAccount(buffer.publicKey.toBase58())).toBeUndefined()
  })

  it('T27: one program calls another, and both are told', async () => {
    const create = createAssociatedTokenAccountIdempotentInstruction(
      payer.publicKey,
      getAssociatedTokenAddressSync(usdc, Keypair.generate().publicKey, true),
      Keypair.generate().publicKey,
      usdc,
    )
    const wrong = await run([create])
    expect(wrong.meta.err).toEqual({ InstructionError: [0, 'InvalidSeeds'] })
    const owner = Keypair.generate().publicKey
    const right = await run([
      createAssociatedTokenAccountIdempotentInstruction(
        payer.publicKey,
        getAssociatedTokenAddressSync(usdc, owner),
        owner,
        usdc,
      ),
    ])
    expect(right.meta.innerInstructions[0]?.instructions.map(({ parsed }) => parsed?.type)).toEqual([
      'getAccountDataSize',
      'createAccount',
      'initializeImmutableOwner',
      'initializeAccount3',
    ])
  })

  it('changes accounts without a transaction', async () => {
    const address = Keypair.generate().publicKey.toBase58()
    const owner = SystemProgram.programId.toBase58()
    localnet.setAccount(address, {
      lamports: 5n * 10n ** 9n,
      data: new Uint8Array(),
      owner,
      executable: false,
      rentEpoch: 0n,
    })
    expect(await rpc.balance(address)).toBe(5e9)
    localnet.setAccount(address, undefined)
    expect(await rpc.balance(address)).toBe(0)
    localnet.setAccount(address, { lamports: 0n, data: new Uint8Array(), owner, executable: false, rentEpoch: 0n })
    expect(localnet.getAccount(address)).toBeUndefined()
    const bad = { lamports: 1n, data: new Uint8Array(3), owner, executable: false, rentEpoch: 0n }
    expect(() => localnet.setAccount('not an address', bad)).toThrow(TypeError)
    expect(() => localnet.setAccount('SysvarRent111111111111111111111111111111111', bad)).toThrow()
    expect(localnet.getAccount('SysvarRent111111111111111111111111111111111')?.data).toHaveLength(17)
    const frozenAccount = localnet.getAccount(to.toBase58())
    if (!frozenAccount) throw new Error('no account')
    const data = frozenAccount.data.slice()
    data[108] = 2
    localnet.setAccount(to.toBase58(), { ...frozenAccount, data })
    expect((await run([checked(1n)])).meta.err).toEqual({ InstructionError: [0, { Custom: 17 }] })
    localnet.setAccount(to.toBase58(), frozenAccount)
    expect((await run([checked(1n)])).meta.err).toBeNull()
  })
})
