/** A localnet with a wallet that pays out, people who are paid, and nodes that can be made to lie. */
import type { KeyPairSigner } from '@solana/kit'
import { createWallet } from '../../src/chain/keys/keypair.ts'
import type { Rpc } from '../../src/chain/rpc/rpc.ts'
import { createOutgoingWallet, type OutgoingWalletParts } from '../../src/chain/wallets/outgoing-wallet.ts'
import type { Mint } from '../../src/core/money/tokens.ts'
import type { OutgoingTransfer, OutgoingWallet, SignedBytes, Signing } from '../../src/core/payouts/outgoing-wallet.ts'
import type { Log } from '../../src/core/runtime.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { instruction, succeed } from '../harness/message.ts'
import { honest, type NodeScript, scripted } from './nodes-fixture.ts'

export interface PayoutFixture extends LocalnetFixture {
  readonly sender: KeyPairSigner
  /** Through one honest node. */
  readonly outgoingWallet: OutgoingWallet
  courierOf(scripts: readonly NodeScript[], parts?: Partial<OutgoingWalletParts>): OutgoingWallet
  rpcOf: (scripts: readonly NodeScript[], timeoutMs?: number) => Rpc & { calls(): ReadonlyMap<string, number> }
  /** What somebody holds of a mint, or of SOL. */
  held(owner: string, mint?: Mint): Promise<bigint>
  /** So many wallets with an empty account of NATIVE. */
  people(count: number): Promise<readonly string[]>
  /** Sends, and waits until it is confirmed. */
  land(signed: SignedBytes): Promise<void>
  freeze(owner: string, mint: Mint, authority: KeyPairSigner): Promise<void>
}

/** Slots do not pass by themselves: tests let them. */
export async function createOffice(): Promise<PayoutFixture> {
  const world = await createLocalnetFixture({ slotMs: 3_600_000 })
  const http = createHttpTransport()
  const sender = await world.person()
  const wallet = await createWallet(sender)
  const rpcOf = scripted(world.localnet.rpcUrl, http.transport)
  const log: Log = { info: () => {}, warn: () => {}, error: () => {} }
  const courierOf: PayoutFixture['courierOf'] = (scripts, parts = {}) =>
    createOutgoingWallet({
      rpc: rpcOf(scripts),
      genesis: world.localnet.genesisHash,
      wallet,
      verifier: createVerifier(),
      clock: createWallClock(),
      log,
      ...parts,
    })
  const outgoingWallet = courierOf([honest])
  return {
    ...world,
    sender,
    outgoingWallet,
    courierOf,
    rpcOf,
    held: async (owner, mint) => {
      const address = mint ? await world.tokenAccount(owner, mint) : owner
      const account = world.localnet.getAccount(address)
      if (!mint || !account) return account?.lamports ?? 0n
      return Buffer.from(account.data).readBigUInt64LE(64)
    },
    people: async (count) => {
      const signers = await Promise.all(Array.from({ length: count }, newSigner))
      for (const { address } of signers) await world.localnet.fund(address, { NATIVE: 0n })
      return signers.map(({ address }) => address)
    },
    land: async (signed) => {
      const posting = await outgoingWallet.send(signed)
      if (posting.kind !== 'sent') throw new Error(posting.why)
      world.localnet.advance(0, 1)
    },
    freeze: async (owner, mint, authority) => {
      const account = await world.tokenAccount(owner, mint)
      const accounts = [['w', account] as const, ['r', mint.address] as const, ['r', authority] as const]
      await succeed(world, [instruction(mint.tokenProgram, accounts, 10)], authority)
    },
    close: async () => {
      await http.close()
      await world.close()
    },
  }
}

export function signedIn(signing: Signing): SignedBytes {
  if (signing.kind !== 'signed') throw new Error(`${signing.kind}: ${signing.why}`)
  return signing.signed
}

export const transfer = (owner: string, units: bigint, opens = false): OutgoingTransfer => ({ owner, units, opens })
