/**
 * Asks the nodes whether a wallet can be paid: its own account, the mints, and its token accounts.
 *
 * The answers decide which tokens are offered and at which amount. Two nodes must agree if two answer, and only a node
 * of the right chain counts.
 */
import { canonicalJson } from '../../core/encoding/canonical-json.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { type ByToken, type Mint, smallestBalance, type TokenCode, token2022Program } from '../../core/money/tokens.ts'
import type { Inspection, TokenReading, WalletReading } from '../../core/payment/token-rules.ts'
import { readGenesis } from '../rpc/genesis.ts'
import { readCount, readU64 } from '../rpc/json.ts'
import type { Call, Rpc } from '../rpc/rpc.ts'
import { absent, askAccounts, type ChainAccount } from './account.ts'
import { readMint } from './mints.ts'
import { findTokenAccount, tokenPrograms } from './programs.ts'
import { readTokenAccount } from './token-account.ts'

export interface RecipientQuestion {
  readonly recipient: string
  readonly mints: ByToken<Mint>
}

/** Inspects a recipient. Identical concurrent questions share the answer. */
export type Inspect = (question: RecipientQuestion) => Promise<Inspection>

export function createInspector(rpc: Rpc, genesis: string): Inspect {
  const pending = new Map<string, Promise<Inspection>>()
  return (question) => {
    const name = JSON.stringify(question)
    const inspection = pending.get(name) ?? inspect(rpc, genesis, question).finally(() => pending.delete(name))
    pending.set(name, inspection)
    return inspection
  }
}

async function inspect(rpc: Rpc, genesis: string, question: RecipientQuestion): Promise<Inspection> {
  const answers = await Promise.all(rpc.nodes.map(({ call }) => askNode(call, genesis, question)))
  const [first, ...others] = answers.filter(({ kind }) => kind === 'seen')
  // One answer is sufficient, because a service must be able to start while a node is down. Payments are still verified
  // by the quorum.
  if (!first || others.length === 0) return first ?? answers[0] ?? { kind: 'unknown', why: 'no node is available' }
  const names = new Set<string>()
  for (const answer of [first, ...others]) {
    const name = canonicalJson(answer)
    if (names.has(name)) return answer
    names.add(name)
  }
  return { kind: 'unknown', why: 'the nodes do not agree' }
}

async function askNode(call: Call, genesis: string, { recipient, mints }: RecipientQuestion): Promise<Inspection> {
  const entries = Object.entries(mints) as [TokenCode, Mint][]
  const pairs = entries.map(([, mint]) =>
    findTokenAccount(recipient, mint.address, mint.tokenProgram).then((account) => [mint.address, account]),
  )
  const addresses = [recipient, ...(await Promise.all(pairs)).flat()]
  const reading = await askAccounts(call, addresses)
  if (reading.kind === 'unavailable') return { kind: 'unknown', why: reading.why }
  const [own = absent, ...others] = reading.accounts
  const epoch = others.some(({ owner }) => owner === token2022Program) ? await readEpoch(call) : 0n
  if (epoch === undefined) return { kind: 'unknown', why: 'the epoch cannot be read' }
  const wallet = await readWallet(call, own)
  // This is the last question, because one address can lead to different nodes from one question to the next.
  const chain = await readGenesis(call)
  if (chain === undefined) return { kind: 'unknown', why: 'a node did not return its genesis hash' }
  if (chain !== genesis) return { kind: 'unknown', why: 'a node belongs to another chain' }
  const tokens: Record<string, TokenReading> = {}
  for (const [index, [code, mint]] of entries.entries()) {
    const [first, second] = [others[2 * index], others[2 * index + 1]]
    if (first && second) tokens[code] = { mint: readMint(first, epoch), account: readTokenAccount(second, mint) }
  }
  return { kind: 'seen', wallet, tokens }
}

async function readWallet(call: Call, { lamports, owner, executable }: ChainAccount): Promise<WalletReading> {
  if (executable) return { kind: 'unspendable', what: 'a program' }
  if (tokenPrograms.has(owner)) return { kind: 'unspendable', what: 'a token account or a mint' }
  // The usual case. It needs no further question.
  if (lamports >= smallestBalance) return { kind: 'wallet', leastLamports: 0n }
  const answer = await call('getMinimumBalanceForRentExemption', [0])
  const least = (answer.kind === 'answered' ? readU64(answer.result) : undefined) ?? smallestBalance
  return { kind: 'wallet', leastLamports: least > lamports ? least - lamports : 0n }
}

async function readEpoch(call: Call): Promise<bigint | undefined> {
  const answer = await call('getEpochInfo', [{ commitment: 'confirmed' }])
  const epoch = answer.kind === 'answered' && isFields(answer.result) ? readCount(answer.result['epoch']) : undefined
  return epoch === undefined ? undefined : BigInt(epoch)
}
