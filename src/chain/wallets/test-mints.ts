/**
 * Test money: mints that belong to a key, tokens minted from them, and small amounts of the key's own SOL.
 *
 * The key signs for one chain only. Directly before each send, every node must confirm that chain. Mainnet is refused
 * regardless of the nodes' answers.
 */
import { address, createAddressWithSeed, createNoopSigner, type Instruction } from '@solana/kit'
import { getCreateAccountWithSeedInstruction, getTransferSolInstruction } from '@solana-program/system'
import { getInitializeMint2Instruction, getMintToCheckedInstruction } from '@solana-program/token'
import {
  type ByToken,
  genesisHashes,
  knownMints,
  type Mint,
  type MintTable,
  splTokenProgram,
  type TokenCode,
} from '../../core/money/tokens.ts'
import { readAccounts } from '../accounts/account.ts'
import { readMint } from '../accounts/mints.ts'
import { findTokenAccount } from '../accounts/programs.ts'
import type { Wallet } from '../keys/keypair.ts'
import { readGenesis } from '../rpc/genesis.ts'
import { readU64 } from '../rpc/json.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { confirm, readLifetime, type SendParts, submit } from '../send/send.ts'
import { computeBudget, memoInstruction, openInstruction, signInstructions } from './payment.ts'

export type TestMinting =
  | { readonly kind: 'landed'; readonly tx: string }
  /** The chain rejected it. */
  | { readonly kind: 'failed'; readonly why: string }
  /** No node, or no node of this chain, answered. `isSent`: the transaction may land nevertheless. */
  | { readonly kind: 'unavailable'; readonly why: string; readonly isSent: boolean }

/** SOL cannot be minted. */
export type MintedCode = 'USDC' | 'NATIVE'

export interface MintingOrder {
  readonly recipient: string
  readonly units: ByToken<bigint>
  readonly mints: MintTable
}

const confirmMs = 30_000
const mintBytes = 82
/** More than any of these transactions needs. */
const mostUnits = 200_000

/** Throws a `TypeError` for mainnet, which has no test money. */
export function createMinter(parts: SendParts, wallet: Wallet) {
  if (parts.genesis === genesisHashes.mainnet) throw new TypeError('mainnet has no test money')
  const run = (instructions: readonly Instruction[]) => land(parts, wallet, instructions)
  return {
    /** Sends SOL from the key's own balance, and mints the other tokens into the recipient's accounts, which it opens. */
    give: async (order: MintingOrder) => run(await giving(order, wallet.address)),
    /** Creates the key's own mints if they do not exist yet. Their addresses are always the same. */
    createMints: async () => {
      const trouble = await checkChain(parts)
      if (trouble) return trouble
      const mints = await ownMints(wallet.address)
      const missing = await findMissing(parts.rpc, mints)
      const rent = await readRent(parts.rpc)
      if (!missing || rent === undefined) return unavailable('no node returned the accounts of the mints')
      if (missing.length === 0) return { mints, made: [] }
      const instructions = missing.flatMap((code) => creation(code, mints[code], wallet.address, rent))
      const landed = await run(instructions)
      return landed.kind === 'landed' ? { mints, made: missing } : landed
    },
  }
}

async function land(parts: SendParts, wallet: Wallet, instructions: readonly Instruction[]): Promise<TestMinting> {
  const lifetime = await readLifetime(parts.rpc)
  if (!lifetime) return unavailable('no node returned a recent blockhash')
  const signed = await signInstructions([...computeBudget(mostUnits), ...instructions], lifetime, wallet)
  // This is the last question before sending, because one address can lead to different nodes.
  const stranger = await checkChain(parts)
  if (stranger) return stranger
  const submission = await submit(parts.rpc, signed)
  if (submission.kind === 'rejected') return { kind: 'failed', why: explain(submission.why, wallet) }
  const fate = await confirm(parts, signed, confirmMs)
  if (fate.kind === 'landed') return { kind: 'landed', tx: signed.signature }
  if (fate.kind === 'failed') return { kind: 'failed', why: explain(fate.error, wallet) }
  if (fate.kind === 'expired') return unavailable('it did not reach the chain in time')
  return { kind: 'unavailable', why: fate.why, isSent: true }
}

/** Undefined if at least one node answers and every node that answers is on the chain. */
async function checkChain({ rpc, genesis }: SendParts): Promise<TestMinting | undefined> {
  const named = await Promise.all(rpc.nodes.map(({ call }) => readGenesis(call)))
  const known = named.filter((one) => one !== undefined)
  if (known.length === 0) return unavailable('no node returned its genesis hash')
  return known.every((one) => one === genesis) ? undefined : unavailable('a node belongs to another chain')
}

async function giving({ recipient, units, mints }: MintingOrder, payer: string): Promise<readonly Instruction[]> {
  const signer = createNoopSigner(address(payer))
  // Two equal orders with one blockhash would be the same transaction.
  const instructions: Instruction[] = [memoInstruction(`test money ${crypto.randomUUID()}`)]
  if (units.SOL)
    instructions.push(getTransferSolInstruction({ source: signer, destination: address(recipient), amount: units.SOL }))
  for (const code of ['USDC', 'NATIVE'] as const) {
    const [amount, mint] = [units[code], mints[code]]
    if (amount === undefined || !mint) continue
    const account = await findTokenAccount(recipient, mint.address, mint.tokenProgram)
    instructions.push(
      await openInstruction(payer, recipient, mint),
      getMintToCheckedInstruction(
        {
          mint: address(mint.address),
          token: address(account),
          mintAuthority: signer,
          amount,
          decimals: mint.decimals,
        },
        { programAddress: address(mint.tokenProgram) },
      ),
    )
  }
  return instructions
}

const formatSeed = (code: TokenCode): string => `paystile-${code.toLowerCase()}`

type OwnMints = Readonly<Record<MintedCode, Mint>>

async function ownMints(base: string): Promise<OwnMints> {
  const entries = (['USDC', 'NATIVE'] as const).map(async (code) => {
    const programAddress = address(splTokenProgram)
    const mint = await createAddressWithSeed({ baseAddress: address(base), programAddress, seed: formatSeed(code) })
    const decimals = knownMints.devnet[code]?.decimals ?? 0
    return [code, { address: String(mint), decimals, tokenProgram: splTokenProgram }] as const
  })
  return Object.fromEntries(await Promise.all(entries)) as OwnMints
}

/** Undefined if no node answers. */
async function findMissing(rpc: Rpc, mints: OwnMints): Promise<readonly MintedCode[] | undefined> {
  const entries = Object.entries(mints) as [MintedCode, Mint][]
  const addresses = entries.map(([, mint]) => mint.address)
  const accounts = await readAccounts(rpc.call, addresses)
  return (
    accounts &&
    entries.flatMap(([code], index) => {
      const account = accounts[index]
      return account && readMint(account, 0n).kind === 'mint' ? [] : [code]
    })
  )
}

async function readRent({ call }: Rpc): Promise<bigint | undefined> {
  const answer = await call('getMinimumBalanceForRentExemption', [mintBytes])
  return answer.kind === 'answered' ? readU64(answer.result) : undefined
}

/** An address with a seed needs only the key's own signature. */
function creation(code: TokenCode, mint: Mint, base: string, amount: bigint): readonly Instruction[] {
  const [newAccount, programAddress] = [address(mint.address), address(mint.tokenProgram)]
  return [
    getCreateAccountWithSeedInstruction({
      payer: createNoopSigner(address(base)),
      newAccount,
      base: address(base),
      seed: formatSeed(code),
      amount,
      space: mintBytes,
      programAddress,
    }),
    getInitializeMint2Instruction({ mint: newAccount, decimals: mint.decimals, mintAuthority: address(base) }),
  ]
}

/** Explains a failure to the owner of the key, as far as they can fix it. */
function explain(why: string, { address: key }: Wallet): string {
  if (/"Custom":4\b/.test(why)) return `${key} is not the mint authority of the mints; use mints of this key`
  if (/AccountNotFound|Insufficient|"Custom":1\b/i.test(why)) return `${key} holds too little SOL`
  return why
}

function unavailable(why: string): Extract<TestMinting, { kind: 'unavailable' }> {
  return { kind: 'unavailable', why, isSent: false }
}
