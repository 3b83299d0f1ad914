/** Sends what a payer of ours would not: any instructions, signers, versions. Built with the library, not with our code. */
import {
  AccountRole,
  type Address,
  address,
  addSignersToTransactionMessage,
  appendTransactionMessageInstructions,
  type Blockhash,
  compressTransactionMessageUsingAddressLookupTables,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type Instruction,
  type KeyPairSigner,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLoadedAccountsDataSizeLimit,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { confirm, type PaymentFate, readLifetime } from '../../src/chain/send/send.ts'
import type { NodesFixture } from './nodes-fixture.ts'

export interface SendOptions {
  readonly version?: 'legacy' | 0 | 1
  /** The first pays the fee. */
  readonly signers: readonly KeyPairSigner[]
  readonly tables?: Readonly<Record<string, readonly string[]>>
}

export interface Sent {
  readonly signature: string
  readonly fate: PaymentFate
}

export const signerOf = (byte: number): Promise<KeyPairSigner> =>
  createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(32).fill(byte))

const roles = {
  r: AccountRole.READONLY,
  w: AccountRole.WRITABLE,
  s: AccountRole.READONLY_SIGNER,
  ws: AccountRole.WRITABLE_SIGNER,
}

/** `instruction('Memo…', 'w:address s:address', data)` */
export function instruction(program: string, accounts: string, data: Uint8Array): Instruction {
  const metas = accounts
    .split(' ')
    .filter(Boolean)
    .map((text) => {
      const [role = 'r', account = ''] = text.split(':')
      return { address: address(account), role: roles[role as keyof typeof roles] }
    })
  return { programAddress: address(program), accounts: metas, data }
}

export async function send(
  world: NodesFixture,
  instructions: readonly Instruction[],
  options: SendOptions,
): Promise<Sent> {
  const { version = 0, signers, tables = {} } = options
  const [feePayer] = signers
  const lifetime = await readLifetime(world.rpc)
  if (!feePayer || !lifetime) throw new Error('no fee payer or no blockhash')
  const constraint = {
    blockhash: lifetime.blockhash as Blockhash,
    lastValidBlockHeight: BigInt(lifetime.lastValidBlockHeight),
  }
  const draft = appendTransactionMessageInstructions(
    instructions,
    setTransactionMessageLifetimeUsingBlockhash(
      constraint,
      setTransactionMessageFeePayerSigner(feePayer, createTransactionMessage({ version: version as 0 })),
    ),
  )
  // Version 1 has no defaults: without limits it may load and compute nothing.
  const sized = setTransactionMessageLoadedAccountsDataSizeLimit(10_000_000, draft as never)
  const limited = version === 1 ? (setTransactionMessageComputeUnitLimit(200_000, sized) as typeof draft) : draft
  const addresses = Object.fromEntries(
    Object.entries(tables).map(([table, entries]) => [table, entries.map((entry) => address(entry))]),
  ) as Record<Address, Address[]>
  const message =
    Object.keys(tables).length > 0 ? compressTransactionMessageUsingAddressLookupTables(limited, addresses) : limited
  const signed = await signTransactionMessageWithSigners(addSignersToTransactionMessage([...signers], message))
  const payment = {
    wire: getBase64EncodedWireTransaction(signed),
    signature: getSignatureFromTransaction(signed) as string,
    slot: lifetime.slot,
  }
  const answer = await world.rpc.call('sendTransaction', [payment.wire, { encoding: 'base64', skipPreflight: true }])
  if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer))
  return { signature: payment.signature, fate: await confirm(world, payment, 5_000) }
}
