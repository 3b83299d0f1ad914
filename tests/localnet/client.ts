/** A small client of the localnet for tests: bare JSON-RPC, and transactions made with kit. */
import {
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type Instruction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageConfig,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type V1TransactionConfig,
} from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import type { Localnet } from '../../src/localnet/index.ts'

export interface RpcAnswer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> }
}

/** A chain whose slots pass only when a test says so. */
export const frozen = { slotMs: 2 ** 31 - 1 }

export function client(localnet: Pick<Localnet, 'rpcUrl'>) {
  async function post(body: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(localnet.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
  }

  async function ask(method: string, ...params: unknown[]): Promise<RpcAnswer> {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return (await (await post(text)).json()) as RpcAnswer
  }

  /** The result, or an exception with the error. */
  async function get<T = unknown>(method: string, ...params: unknown[]): Promise<T> {
    const { result, error } = await ask(method, ...params)
    if (error) throw new Error(`${method}: ${error.code} ${error.message} ${JSON.stringify(error.data ?? '')}`)
    return result as T
  }

  async function value<T = unknown>(method: string, ...params: unknown[]): Promise<T> {
    return (await get<{ value: T }>(method, ...params)).value
  }

  const processed = { commitment: 'processed' }
  const blockhash = async () => (await value<{ blockhash: string }>('getLatestBlockhash', processed)).blockhash

  return {
    post,
    ask,
    get,
    value,
    blockhash,
    balance: async (address: string, commitment = 'processed') => value<number>('getBalance', address, { commitment }),
    send: async (wire: string, config: Record<string, unknown> = {}) =>
      ask('sendTransaction', wire, { encoding: 'base64', preflightCommitment: 'processed', ...config }),
    status: async (signature: string) =>
      (await value<({ confirmationStatus: string; err: unknown } | null)[]>('getSignatureStatuses', [signature]))[0],
  }
}

let seeds = 0

/** A new wallet, the same in every run. */
export function newWallet(): Promise<KeyPairSigner> {
  const seed = new Uint8Array(32)
  new DataView(seed.buffer).setUint32(0, ++seeds)
  return createKeyPairSignerFromPrivateKeyBytes(seed)
}

export interface Built {
  readonly wire: string
  readonly signature: string
}

export async function build(
  payer: KeyPairSigner,
  instructions: readonly Instruction[],
  blockhash: string,
  version: 'legacy' | 0 | 1 = 0,
  config: V1TransactionConfig = { computeUnitLimit: 200_000, loadedAccountsDataSizeLimit: 1_000_000 },
): Promise<Built> {
  const message = pipe(
    createTransactionMessage({ version }),
    (empty) => setTransactionMessageFeePayerSigner(payer, empty),
    (paid) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash as Blockhash, lastValidBlockHeight: 2n ** 40n },
        paid,
      ),
    (lived) => (version === 1 ? setTransactionMessageConfig(config, lived as never) : lived),
    (configured) => appendTransactionMessageInstructions(instructions, configured as never),
  )
  const transaction = await signTransactionMessageWithSigners(message as never)
  return {
    wire: getBase64EncodedWireTransaction(transaction),
    signature: getSignatureFromTransaction(transaction),
  }
}

export function pay(source: KeyPairSigner, destination: string, amount: bigint): Instruction {
  return getTransferSolInstruction({
    source,
    destination: destination as Address,
    amount: lamports(amount),
  }) as Instruction
}

export function memo(text: string | Uint8Array, program = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'): Instruction {
  return { programAddress: program as Address, data: typeof text === 'string' ? new TextEncoder().encode(text) : text }
}
