/** Transactions that no client of ours would send: any version, signers, lookup tables, durable nonces. Built with kit. */
import {
  AccountRole,
  type Address,
  address,
  addSignersToTransactionMessage,
  appendTransactionMessageInstructions,
  type Blockhash,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type Instruction,
  isTransactionSigner,
  type KeyPairSigner,
  type Nonce,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLifetimeUsingDurableNonce,
  setTransactionMessageLoadedAccountsDataSizeLimit,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import type { LocalnetFixture } from './localnet-fixture.ts'

export interface MessageOptions {
  readonly version?: 'legacy' | 0 | 1
  /** Signers that no instruction names as such. */
  readonly signers?: readonly KeyPairSigner[]
  /** Addresses by the lookup table that holds them. */
  readonly tables?: Readonly<Record<string, readonly string[]>>
  readonly nonce?: { readonly account: string; readonly authority: KeyPairSigner; readonly value: string }
}

export interface Signed {
  readonly signature: string
  /** base64 */
  readonly wire: string
}

/** Signs without sending. */
export async function signMessage(
  world: LocalnetFixture,
  instructions: readonly Instruction[],
  feePayer: KeyPairSigner,
  options: MessageOptions = {},
): Promise<Signed> {
  const { version = 0, signers = [], tables = {}, nonce } = options
  const empty = setTransactionMessageFeePayerSigner(feePayer, createTransactionMessage({ version: version as 0 }))
  const living = nonce
    ? setTransactionMessageLifetimeUsingDurableNonce(
        {
          nonce: nonce.value as Nonce,
          nonceAccountAddress: address(nonce.account),
          nonceAuthorityAddress: nonce.authority.address,
        },
        empty,
      )
    : setTransactionMessageLifetimeUsingBlockhash(await latestLifetime(world), empty)
  const draft = appendTransactionMessageInstructions(instructions, living as typeof empty)
  // Version 1 has no defaults: without limits it may load and compute nothing.
  const sized = setTransactionMessageLoadedAccountsDataSizeLimit(10_000_000, draft as never)
  const limited = version === 1 ? (setTransactionMessageComputeUnitLimit(200_000, sized) as typeof draft) : draft
  const addresses = Object.fromEntries(
    Object.entries(tables).map(([table, entries]) => [table, entries.map((entry) => address(entry))]),
  ) as Record<Address, Address[]>
  const message =
    Object.keys(tables).length > 0 ? compressTransactionMessageUsingAddressLookupTables(limited, addresses) : limited
  const all = [...signers, ...(nonce ? [nonce.authority] : [])]
  const signed = await signTransactionMessageWithSigners(addSignersToTransactionMessage(all, message) as never)
  return { signature: getSignatureFromTransaction(signed), wire: getBase64EncodedWireTransaction(signed) }
}

async function latestLifetime(world: LocalnetFixture) {
  const { value } = await world.rpc<{ value: { blockhash: Blockhash; lastValidBlockHeight: number } }>(
    'getLatestBlockhash',
    [{ commitment: 'confirmed' }],
  )
  return { blockhash: value.blockhash, lastValidBlockHeight: BigInt(value.lastValidBlockHeight) }
}

/** Hands a transaction to the node without waiting for anything. */
export async function post(world: LocalnetFixture, { wire, signature }: Signed): Promise<string> {
  await world.rpc('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }])
  return signature
}

/** Signs, sends, and closes the slot, so that it is confirmed, failed or not. */
export async function land(
  world: LocalnetFixture,
  instructions: readonly Instruction[],
  feePayer: KeyPairSigner,
  options?: MessageOptions,
): Promise<string> {
  const signature = await post(world, await signMessage(world, instructions, feePayer, options))
  world.localnet.advance(0, 1)
  const { value } = await world.rpc<{ value: readonly unknown[] }>('getSignatureStatuses', [[signature]])
  if (!value[0]) throw new Error('the transaction did not land')
  return signature
}

/** The same, but a failure is a mistake of the test. */
export async function succeed(...parts: Parameters<typeof land>): Promise<string> {
  const signature = await land(...parts)
  const [world] = parts
  const { meta } = await world.rpc<{ meta: { err: unknown; logMessages: readonly string[] } }>('getTransaction', [
    signature,
    { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 },
  ])
  if (meta.err !== null) throw new Error(`${JSON.stringify(meta.err)}\n${meta.logMessages.join('\n')}`)
  return signature
}

type Party = string | KeyPairSigner
const roles = {
  r: [AccountRole.READONLY, AccountRole.READONLY_SIGNER],
  w: [AccountRole.WRITABLE, AccountRole.WRITABLE_SIGNER],
} as const

/** An instruction by hand: accounts as `['w', account]`; a signer given as such signs. */
export function instruction(
  program: string,
  accounts: readonly (readonly ['r' | 'w', Party])[],
  ...data: readonly (number | Uint8Array | readonly number[])[]
): Instruction {
  const metas = accounts.map(([access, party]) => {
    if (typeof party === 'string') return { address: address(party), role: roles[access][0] }
    return { address: party.address, role: roles[access][1], ...(isTransactionSigner(party) && { signer: party }) }
  })
  const bytes = Uint8Array.from(data.flatMap((part) => (typeof part === 'number' ? [part] : [...part])))
  return { programAddress: address(program), accounts: metas, data: bytes }
}

export const u64 = (value: bigint) => new Uint8Array(new BigUint64Array([value]).buffer)
export const u32 = (value: number) => new Uint8Array(new Uint32Array([value]).buffer)
