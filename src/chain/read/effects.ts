/**
 * Derives the effects of a transaction (transfers, balances, memos) from the signed bytes and the node's report.
 *
 * Instructions come from the signed bytes and from the programs' calls. Logs are never read, because any program can
 * write anything there.
 */
import { decodeBase58, encodeBase58 } from '../../core/encoding/base58.ts'
import type { Effect, TokenHolding, Transfer } from '../../core/payment/verify.ts'
import { tokenPrograms } from '../accounts/programs.ts'
import type { Transaction } from './decode.ts'
import type { Indices, ParsedInstruction, ParsedTransfer } from './instructions.ts'
import { isOfInterest, readInstructions } from './instructions.ts'
import { type Meta, readMeta, type TokenBalance } from './meta.ts'

export interface LandedTransaction {
  readonly signature: string
  readonly slot: number
  readonly blockTime: number
  readonly transaction: Transaction
  /** The node's unparsed report. */
  readonly meta: unknown
}

export type EffectReading =
  | { readonly kind: 'effect'; readonly effect: Effect }
  | { readonly kind: 'unusable'; readonly why: string }

/** Reads the effects of a transaction. Unusable if the node's report is ambiguous. */
export function readEffect(landed: LandedTransaction): EffectReading {
  const { signature, slot, blockTime, transaction } = landed
  const reading = readMeta(landed.meta, transaction)
  if (reading.kind === 'unusable') return reading
  const { meta } = reading
  const accounts = [...transaction.keys.map(encodeBase58), ...meta.loaded]
  if (new Set(accounts).size !== accounts.length) return unusable('an account is listed twice')
  const context: Context = { accounts, signers: transaction.header.requiredSignatures, meta }
  // A failed transaction only pays its fee, regardless of its instructions.
  const deeds = meta.failed ? idle : readActions(transaction, context)
  if ('why' in deeds) return unusable(deeds.why)
  const [feePayer = ''] = accounts
  const holdings = readHoldings(context)
  const { failed, fee } = meta
  return { kind: 'effect', effect: { signature, slot, blockTime, failed, feePayer, fee, ...deeds, holdings } }
}

interface Context {
  readonly accounts: readonly string[]
  /** The number of leading accounts that signed. */
  readonly signers: number
  readonly meta: Meta
}

type Actions = Pick<Effect, 'memos' | 'transfers'>
interface Unclear {
  readonly why: string
}

const idle: Actions = { memos: [], transfers: [] }

/**
 * Longer data in a call is neither a memo of this protocol nor a plain transfer. Decoding it would cost the service,
 * not the sender.
 */
const longestInnerData = 700

/** A running program: the memos that it wrote by its own calls, and whether the token program runs above it. */
interface Frame {
  readonly memos: string[]
  readonly isBelowToken: boolean
}

/** The position of an instruction that a program called. */
interface Call {
  /** The accounts of the top-level instruction above it. */
  readonly top: Indices
  /** Undefined if the node does not report it. */
  readonly caller: Frame | undefined
}

type Unassigned = Omit<Transfer, 'memos'>

function readActions(transaction: Transaction, context: Context): Actions | Unclear {
  const memos: string[] = []
  const topMemos: string[] = []
  // Memos are assigned at the end, because a memo can follow its transfer.
  const unassigned: { readonly transfer: Unassigned; readonly call: Call | undefined }[] = []
  let hasStrayMemo = false
  let problem: Unclear | undefined
  const perform = (program: string, accounts: Indices, data: Uint8Array | undefined, call?: Call) => {
    const parsed: readonly ParsedInstruction[] | undefined = data && readInstructions(program, accounts, data)
    if (!parsed) problem = { why: 'an instruction is inconsistent with its recorded effects' }
    for (const instruction of parsed ?? []) {
      if (instruction.kind === 'memo') {
        const memo = latin1(instruction.data)
        const place = call ? call.caller?.memos : topMemos
        hasStrayMemo ||= place === undefined
        place?.push(memo)
        memos.push(memo)
      } else {
        const transfer = resolve(instruction, call, context)
        if (transfer && 'why' in transfer) problem = transfer
        else if (transfer) unassigned.push({ transfer, call })
      }
    }
  }
  for (const [position, { program, accounts, data }] of transaction.instructions.entries()) {
    const name = context.accounts[program] ?? ''
    perform(name, accounts, data)
    // The running programs, by depth.
    const frames: (Frame | undefined)[] = [undefined, { memos: [], isBelowToken: tokenPrograms.has(name) }]
    for (const inner of context.meta.inner) {
      if (inner.under !== position) continue
      const called = context.accounts[inner.program] ?? ''
      const caller = inner.height === undefined ? undefined : frames[inner.height - 1]
      if (inner.height !== undefined)
        frames[inner.height] = { memos: [], isBelowToken: caller?.isBelowToken !== false || tokenPrograms.has(called) }
      if (!isOfInterest(called) || inner.data.length > longestInnerData) continue
      perform(called, inner.accounts, decodeBase58(inner.data, longestInnerData), { top: accounts, caller })
    }
  }
  const transfers = unassigned.flatMap(({ transfer, call }) => {
    const belonging = listMemos(transfer, call, topMemos, hasStrayMemo, context)
    if (!belonging) problem = { why: 'the caller of an instruction is not recorded' }
    return belonging ? [{ ...transfer, memos: belonging }] : []
  })
  return problem ?? { memos, transfers }
}

/**
 * Lists the memos that belong to a transfer. Any program in a transaction can write a memo, so only two kinds count:
 *
 * - If the payer signed: memos at the top level, and memos of the program that called for the transfer. A program below
 *   the token program (a transfer hook) is chosen by a mint, so its memos never count.
 * - If the calling program signed for the payer: memos of that program. Anyone can call it and put a memo beside it.
 *
 * Undefined if the node does not report the caller.
 */
function listMemos(
  { authority }: Unassigned,
  call: Call | undefined,
  topMemos: readonly string[],
  hasStrayMemo: boolean,
  { accounts, signers }: Context,
): readonly string[] | undefined {
  if (!call) return topMemos
  const { caller } = call
  if (!accounts.slice(0, signers).includes(authority)) return caller?.memos
  if (!caller) return hasStrayMemo ? undefined : topMemos
  return caller.isBelowToken ? topMemos : [...topMemos, ...caller.memos]
}

/**
 * Undefined for a transfer between accounts that existed only inside the transaction: no lasting account gained by it.
 */
function resolve(move: ParsedTransfer, call: Call | undefined, context: Context): Unassigned | Unclear | undefined {
  const address = (index: number) => context.accounts[index] ?? ''
  const signers = signersAmong(call?.top ?? move.given, context)
  const destination = address(move.destination)
  const { units } = move
  if (move.money === 'lamports') {
    const [sourceOwner, authority] = [address(move.source), address(move.authority ?? move.source)]
    return { asset: 'SOL', destination, destinationOwner: destination, sourceOwner, authority, units, signers }
  }
  const { tokensBefore, tokensAfter, lamportsAfter } = context.meta
  for (const account of [move.source, move.destination]) {
    // An existing token account has a balance, even if it is zero. Without the balance, its owner is unknown.
    if (!tokensAfter.has(account) && lamportsAfter[account] !== 0n) return { why: 'a token balance is missing' }
  }
  const sourceOwner = (tokensBefore.get(move.source) ?? tokensAfter.get(move.source))?.owner
  const destinationOwner = (tokensAfter.get(move.destination) ?? tokensBefore.get(move.destination))?.owner
  const asset = move.mint === undefined ? findMint(move, context.meta) : address(move.mint)
  if (asset === undefined) return undefined
  const authority = move.authority === undefined ? (sourceOwner ?? '') : address(move.authority)
  return { asset, destination, destinationOwner, sourceOwner, authority, units, signers }
}

/**
 * Finds the mint of an unchecked transfer, which does not name it. Both accounts have the same mint; the destination is
 * tried first, because it is the relevant one. An account that was closed and reopened under another mint is
 * inconclusive.
 */
function findMint(move: ParsedTransfer, { tokensBefore, tokensAfter }: Meta): string | undefined {
  for (const account of [move.destination, move.source]) {
    const [before, after] = [tokensBefore.get(account)?.mint, tokensAfter.get(account)?.mint]
    if (before === undefined || after === undefined || before === after) {
      const mint = after ?? before
      if (mint !== undefined) return mint
    }
  }
  return undefined
}

function signersAmong(given: Indices, { accounts, signers }: Context): readonly string[] {
  const found = new Set<string>()
  for (let index = 0; index < given.length; index += 1) {
    const account = given[index] ?? signers
    if (account < signers) found.add(accounts[account] ?? '')
  }
  return [...found]
}

function readHoldings({ accounts, meta }: Context): readonly TokenHolding[] {
  const holdings: TokenHolding[] = accounts.map((account, index) => ({
    asset: 'SOL',
    account,
    ownerBefore: account,
    ownerAfter: account,
    before: meta.lamportsBefore[index] ?? 0n,
    after: meta.lamportsAfter[index] ?? 0n,
  }))
  for (const [index, account] of accounts.entries()) {
    const [before, after] = [meta.tokensBefore.get(index), meta.tokensAfter.get(index)]
    if (before?.mint === after?.mint) {
      if (before && after) holdings.push(holding(account, before, after))
      continue
    }
    if (before) holdings.push(holding(account, before, undefined))
    if (after) holdings.push(holding(account, undefined, after))
  }
  return holdings
}

function holding(account: string, before: TokenBalance | undefined, after: TokenBalance | undefined): TokenHolding {
  return {
    asset: before?.mint ?? after?.mint ?? '',
    account,
    ownerBefore: before?.owner,
    ownerAfter: after?.owner,
    before: before?.units ?? 0n,
    after: after?.units ?? 0n,
  }
}

/** One character per byte, so that equal text means equal bytes. UTF-8 decoding does not guarantee that. */
function latin1(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

function unusable(why: string): EffectReading {
  return { kind: 'unusable', why }
}
