/** Mints of the attacker's own, under either token program, with the extensions of Token-2022 written by hand. */
import { type Address, address, createNoopSigner, type Instruction, type KeyPairSigner } from '@solana/kit'
import { getCreateAccountInstruction } from '@solana-program/system'
import {
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeAccount3Instruction,
  getInitializeMint2Instruction,
  getMintToInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token'
import { decodeAddress } from '../../src/core/encoding/base58.ts'
import { type Mint, splTokenProgram, token2022Program } from '../../src/core/money/tokens.ts'
import { type LocalnetFixture, newSigner } from './localnet-fixture.ts'
import { instruction, succeed, u64 } from './message.ts'

/** What an extension adds to a mint: so many bytes, filled by one instruction before the mint itself is made. */
export interface Extension {
  readonly bytes: number
  readonly data: readonly (number | Uint8Array)[]
}

const keyOf = (text: string) => decodeAddress(text) as Uint8Array

export const extensions = {
  transferFee: (basisPoints: number, authority: string, maximum = 2n ** 63n): Extension => ({
    bytes: 108,
    data: [26, 0, 1, keyOf(authority), 1, keyOf(authority), basisPoints & 255, basisPoints >> 8, u64(maximum)],
  }),
  permanentDelegate: (delegate: string): Extension => ({ bytes: 32, data: [35, keyOf(delegate)] }),
  transferHook: (program: string, authority: string): Extension => ({
    bytes: 64,
    data: [36, 0, keyOf(authority), keyOf(program)],
  }),
  interest: (authority: string, basisPoints: number): Extension => ({
    bytes: 52,
    data: [33, 0, keyOf(authority), basisPoints & 255, basisPoints >> 8],
  }),
  scaledAmount: (authority: string, multiplier: number): Extension => ({
    bytes: 56,
    data: [43, 0, keyOf(authority), new Uint8Array(new Float64Array([multiplier]).buffer)],
  }),
  nonTransferable: (): Extension => ({ bytes: 0, data: [32] }),
  pausable: (authority: string): Extension => ({ bytes: 33, data: [44, 0, keyOf(authority)] }),
  /** 1 opens accounts as usual, 2 frozen. */
  accountState: (state: 1 | 2): Extension => ({ bytes: 1, data: [28, 0, state] }),
  closeAuthority: (authority: string): Extension => ({ bytes: 32, data: [25, 1, keyOf(authority)] }),
} as const

export interface MintOptions {
  readonly extensions?: readonly Extension[]
  /** Token-2022 where there are extensions, else SPL Token. */
  readonly tokenProgram?: string
  readonly decimals?: number
  readonly signer?: KeyPairSigner
}

/** Makes a mint by real instructions. */
export async function createMint(
  world: LocalnetFixture,
  authority: KeyPairSigner,
  options: MintOptions = {},
): Promise<Mint> {
  const { extensions: added = [], decimals = 6, signer: mint = await newSigner() } = options
  const tokenProgram = options.tokenProgram ?? (added.length > 0 ? token2022Program : splTokenProgram)
  const space = added.length === 0 ? 82 : 166 + added.reduce((sum, { bytes }) => sum + 4 + bytes, 0)
  const programAddress = address(tokenProgram)
  await succeed(
    world,
    [
      getCreateAccountInstruction({ payer: authority, newAccount: mint, lamports: 10_000_000n, space, programAddress }),
      ...added.map(({ data }) => instruction(tokenProgram, [['w', mint.address]], ...data)),
      getInitializeMint2Instruction(
        { mint: mint.address, decimals, mintAuthority: authority.address, freezeAuthority: authority.address },
        { programAddress },
      ),
    ],
    authority,
  )
  return { address: mint.address, decimals, tokenProgram }
}

/** Opens the associated token accounts of these wallets, and mints this much into each. */
export async function mintTo(
  world: LocalnetFixture,
  mint: Mint,
  authority: KeyPairSigner,
  wallets: Readonly<Record<string, bigint>>,
): Promise<void> {
  const programAddress = address(mint.tokenProgram)
  for (const [wallet, amount] of Object.entries(wallets)) {
    const token = await world.tokenAccount(wallet, mint)
    const open = getCreateAssociatedTokenIdempotentInstruction({
      payer: authority,
      ata: token,
      owner: address(wallet),
      mint: address(mint.address),
      tokenProgram: programAddress,
    })
    const parts = { mint: address(mint.address), token, mintAuthority: authority, amount }
    await succeed(world, [open, getMintToInstruction(parts, { programAddress })], authority)
  }
}

/** A transfer between two wallets' associated token accounts, ordered by the first wallet or by somebody else. */
export async function move(
  world: LocalnetFixture,
  mint: Mint,
  from: string | KeyPairSigner,
  to: string,
  amount: bigint,
  authority = typeof from === 'string' ? createNoopSigner(address(from)) : from,
): Promise<Instruction> {
  const sender = typeof from === 'string' ? from : from.address
  const [source, destination] = await Promise.all([world.tokenAccount(sender, mint), world.tokenAccount(to, mint)])
  return moveBetween(mint, source, destination, amount, authority)
}

/** A transfer between two token accounts. */
export function moveBetween(
  mint: Mint,
  source: string,
  destination: string,
  amount: bigint,
  authority: Parameters<typeof getTransferCheckedInstruction>[0]['authority'],
): Instruction {
  return getTransferCheckedInstruction(
    {
      source: address(source),
      mint: address(mint.address),
      destination: address(destination),
      authority,
      amount,
      decimals: mint.decimals,
    },
    { programAddress: address(mint.tokenProgram) },
  )
}

/** A token account that is not the associated one: opened by `payer`, for `owner`. */
export async function auxiliary(
  payer: KeyPairSigner,
  owner: string,
  mint: Mint,
): Promise<{ readonly address: Address; readonly open: readonly Instruction[] }> {
  const account = await newSigner()
  const programAddress = address(mint.tokenProgram)
  const lamports = 2_039_280n
  return {
    address: account.address,
    open: [
      getCreateAccountInstruction({ payer, newAccount: account, lamports, space: 165, programAddress }),
      getInitializeAccount3Instruction(
        { account: account.address, mint: address(mint.address), owner: address(owner) },
        { programAddress },
      ),
    ],
  }
}
