/**
 * A chain with people on it. Payments are built with kit itself and not with our own builder, so that a mistake we make
 * on both sides does not look right.
 */
import { generateKeyPairSync } from 'node:crypto'
import {
  type Address,
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  createKeyPairSignerFromBytes,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type Instruction,
  type KeyPairSigner,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import { findAssociatedTokenPda, getTransferCheckedInstruction } from '@solana-program/token'
import { request } from 'undici'
import type { Mint } from '../../src/core/money/tokens.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { type Localnet, type LocalnetOptions, startLocalnet } from '../../src/localnet/index.ts'

export const memoV3 = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'

export function memo(text: string | Uint8Array, program = memoV3): Instruction {
  const data = typeof text === 'string' ? new TextEncoder().encode(text) : text
  return { programAddress: address(program), accounts: [], data }
}

interface Sent {
  readonly signature: string
  /** The last block height at which it can land. */
  readonly lastHeight: number
}

export interface LocalnetFixture {
  readonly localnet: Localnet
  readonly usdc: Mint
  readonly native: Mint
  /** The provider's wallet. Only its address matters to the service. */
  readonly recipient: KeyPairSigner
  /** A new wallet with money. */
  person(): Promise<KeyPairSigner>
  rpc<Result = unknown>(method: string, params?: readonly unknown[]): Promise<Result>
  tokenAccount(owner: string, mint: Mint): Promise<Address>
  /** Signs and sends, again if it expires; resolves with the signature once it is confirmed, failed or not. */
  send(instructions: readonly Instruction[], feePayer: KeyPairSigner, version?: 0 | 'legacy'): Promise<string>
  /** Pays a challenge as told, with one transfer and one memo. */
  pay(challenge: Challenge, payer: KeyPairSigner, token?: 'USDC' | 'SOL' | 'NATIVE'): Promise<string>
  /** The transfer that pays, for transactions put together by hand. */
  transfer(
    payer: KeyPairSigner,
    recipient: string,
    token: 'USDC' | 'SOL' | 'NATIVE',
    units: bigint,
  ): Promise<Instruction>
  close(): Promise<void>
}

/**
 * For tests with a browser. A blockhash lives for 150 slots, and a wallet of a busy machine takes seconds for a
 * signature. With slots of 20 ms, its transaction expires before it is sent.
 */
export const unhurried: LocalnetOptions = { slotMs: 200 }

export async function createLocalnetFixture(options: LocalnetOptions = { slotMs: 20 }): Promise<LocalnetFixture> {
  const localnet = await startLocalnet(options)
  const [usdc, native] = [localnet.mints.USDC, localnet.mints.NATIVE]
  if (!usdc || !native) throw new Error('the localnet has no mints')
  const rpc = async <Result>(method: string, params: readonly unknown[] = []): Promise<Result> => {
    // Takes a third of the processor time of a fetch.
    const { body } = await request(localnet.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const answer = (await body.json()) as { result?: Result; error?: { message: string; data?: unknown } }
    if (answer.error) throw new Error(`${method}: ${answer.error.message} ${JSON.stringify(answer.error.data ?? '')}`)
    return answer.result as Result
  }
  const recipient = await newSigner()
  await localnet.fund(recipient.address, { SOL: 1_000_000_000n, USDC: 0n, NATIVE: 0n })

  const tokenAccounts = new Map<string, Promise<Address>>()
  const tokenAccount: LocalnetFixture['tokenAccount'] = (owner, mint) => {
    const name = `${owner} ${mint.address} ${mint.tokenProgram}`
    const known = tokenAccounts.get(name) ?? deriveTokenAccount(owner, mint)
    tokenAccounts.set(name, known)
    return known
  }

  const sendOnce: (...transaction: Parameters<LocalnetFixture['send']>) => Promise<Sent> = async (
    instructions,
    feePayer,
    version = 0,
  ) => {
    const { value } = await rpc<{ value: { blockhash: Blockhash; lastValidBlockHeight: number } }>('getLatestBlockhash')
    const lifetime = { blockhash: value.blockhash, lastValidBlockHeight: BigInt(value.lastValidBlockHeight) }
    const message = pipe(
      createTransactionMessage({ version: version as 0 }),
      (draft) => setTransactionMessageFeePayerSigner(feePayer, draft),
      (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
      (draft) => appendTransactionMessageInstructions(instructions, draft),
    )
    const transaction = await signTransactionMessageWithSigners(message)
    const wire = getBase64EncodedWireTransaction(transaction)
    await rpc('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }])
    return { signature: getSignatureFromTransaction(transaction), lastHeight: value.lastValidBlockHeight }
  }

  // The end of the slot confirms a transaction, so an earlier question is in vain.
  const pauseMs = Math.min(50, options.slotMs ?? 50)
  const isConfirmed = async ({ signature, lastHeight }: Sent): Promise<boolean> => {
    let isOver = false
    for (let attempt = 0; attempt < 400; attempt += 1) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      const { value } = await rpc<{ value: ({ confirmationStatus: string } | null)[] }>('getSignatureStatuses', [
        [signature],
      ])
      const status = value[0]?.confirmationStatus
      if (status === 'confirmed' || status === 'finalized') return true
      if (status === undefined && isOver) return false
      if (status === undefined) isOver = (await rpc<number>('getBlockHeight')) > lastHeight
    }
    throw new Error(`${signature} was not confirmed`)
  }

  const send: LocalnetFixture['send'] = async (...transaction) => {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const sent = await sendOnce(...transaction)
      if (await isConfirmed(sent)) return sent.signature
    }
    throw new Error('ten transactions expired')
  }

  const transfer: LocalnetFixture['transfer'] = async (payer, to, token, units) => {
    if (token === 'SOL') return getTransferSolInstruction({ source: payer, destination: address(to), amount: units })
    const mint = token === 'USDC' ? usdc : native
    const [source, destination] = await Promise.all([tokenAccount(payer.address, mint), tokenAccount(to, mint)])
    return getTransferCheckedInstruction(
      { source, mint: address(mint.address), destination, authority: payer, amount: units, decimals: mint.decimals },
      { programAddress: address(mint.tokenProgram) },
    )
  }

  return {
    localnet,
    usdc,
    native,
    recipient,
    rpc,
    tokenAccount,
    send,
    transfer,
    person: async () => {
      const signer = await newSigner()
      await localnet.fund(signer.address, { SOL: 10_000_000_000n, USDC: 1_000_000_000n, NATIVE: 1_000_000_000_000n })
      return signer
    },
    pay: async (challenge, payer, token = 'USDC') => {
      const decimals = { USDC: usdc.decimals, NATIVE: native.decimals, SOL: 9 }[token]
      const units = BigInt(Math.round(Number(challenge.amounts?.[token]) * 10 ** decimals))
      return send([memo(challenge.requestId), await transfer(payer, challenge.recipient, token, units)], payer)
    },
    close: () => localnet.close(),
  }
}

async function deriveTokenAccount(owner: string, mint: Mint): Promise<Address> {
  const seeds = { owner: address(owner), mint: address(mint.address), tokenProgram: address(mint.tokenProgram) }
  return (await findAssociatedTokenPda(seeds))[0]
}

export async function newSigner(): Promise<KeyPairSigner> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32)
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  return createKeyPairSignerFromBytes(Uint8Array.from([...seed, ...raw]))
}

/** The header a person would paste. */
export function proofOf(tx: string, challenge: Challenge, payer: { readonly address: string }, more = ''): string {
  return `tx=${tx}; requestId=${challenge.requestId}; payer=${payer.address}${more}`
}
