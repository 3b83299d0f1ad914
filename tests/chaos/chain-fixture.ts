/**
 * What happens on chain in one cell of the matrix: one payment that is good and several that are not, all signed before
 * anything is sent, so that a proof can be shown sooner than its payment.
 */
import type { Instruction, KeyPairSigner } from '@solana/kit'
import { getTransferCheckedInstructionDataEncoder } from '@solana-program/token'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { type LocalnetFixture, memo, proofOf } from '../harness/localnet-fixture.ts'
import { post, type Signed, signMessage } from '../harness/message.ts'

const price = 10_000n
const { encode } = getTransferCheckedInstructionDataEncoder()

/** What a node tells of a transaction. */
export interface Told {
  readonly slot: number
  readonly blockTime: number | null
  readonly transaction: readonly [wire: string, encoding: string]
  readonly meta: Readonly<Record<string, unknown>>
}

export interface Payment extends Signed {
  readonly proof: string
}

export const badKinds = ['failed', 'short', 'unsent', 'foreign'] as const
export type Kind = 'good' | (typeof badKinds)[number]

export interface PaymentCase {
  readonly good: Payment
  /** Would have paid, and failed: only the fee was taken. */
  readonly failed: Payment
  /** Pays one base unit too little. */
  readonly short: Payment
  /** Signed and never sent. */
  readonly unsent: Payment
  /** Paid on another chain, where money is free. */
  readonly foreign: Payment
  /** On chain from the beginning: it pays what `unsent` was to pay, by the same wallet, and is nobody's proof meanwhile. */
  readonly decoy: Payment
  /** What an honest node tells of the decoy. The accounts of all these transactions are the same, in the same order. */
  readonly truth: Told
  /** A node of the other chain. */
  readonly elsewhere: string
  /** Sends all that is to be sent; resolves when it is confirmed. */
  land(): Promise<void>
}

/** Two chains on which the same people have money. */
export interface ChainFixture {
  readonly world: LocalnetFixture
  readonly elsewhere: LocalnetFixture
  readonly payer: KeyPairSigner
  /** Of any amount: to find its accounts takes long, and they are the same for all. */
  readonly transfer: Instruction
}

export async function createChainFixture(
  world: LocalnetFixture,
  elsewhere: LocalnetFixture,
  payer: KeyPairSigner,
): Promise<ChainFixture> {
  const { address } = world.recipient
  await elsewhere.localnet.fund(address, { SOL: 1_000_000_000n, USDC: 0n })
  await elsewhere.localnet.fund(payer.address, { SOL: 1_000_000_000n, USDC: 1_000_000_000n })
  return { world, elsewhere, payer, transfer: await world.transfer(payer, address, 'USDC', price) }
}

export async function createPaymentCase(
  chainFixture: ChainFixture,
  challenge: () => Promise<Challenge>,
): Promise<PaymentCase> {
  const { world, elsewhere, payer, transfer } = chainFixture
  const draw = async (asked: Challenge, amounts: readonly bigint[], on = world): Promise<Payment> => {
    const transfers = amounts.map((amount) => ({
      ...transfer,
      data: encode({ amount, decimals: world.usdc.decimals }),
    }))
    const signed = await signMessage(on, [memo(asked.requestId), ...transfers], payer)
    return { ...signed, proof: proofOf(signed.signature, asked, payer) }
  }
  const [forGood, forFailed, forShort, forUnsent, forForeign] = await Promise.all([
    challenge(),
    challenge(),
    challenge(),
    challenge(),
    challenge(),
  ])
  const [good, failed, short, unsent, foreign, decoy] = await Promise.all([
    draw(forGood, [price]),
    draw(forFailed, [price, 10n ** 15n]),
    draw(forShort, [price - 1n]),
    draw(forUnsent, [price]),
    draw(forForeign, [price], elsewhere),
    draw(forUnsent, [price + 1n]),
  ])
  await post(world, decoy)
  world.localnet.advance(0, 1)
  return {
    good,
    failed,
    short,
    unsent,
    foreign,
    decoy,
    truth: await tellOf(world, decoy),
    elsewhere: elsewhere.localnet.rpcUrl,
    land: async () => {
      const sent = [post(world, good), post(world, failed), post(world, short), post(elsewhere, foreign)]
      await Promise.all(sent)
      for (const { localnet } of [world, elsewhere]) localnet.advance(0, 1)
    },
  }
}

async function tellOf(world: LocalnetFixture, { signature }: Signed): Promise<Told> {
  const config = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 1 }
  return world.rpc<Told>('getTransaction', [signature, config])
}
