/** The node behind the RPC: the chain as this caller sees it. */
import type { Bank } from '../../bank/bank.ts'
import type { Commitment, View } from '../../bank/commitment.ts'
import type { Faucet } from '../../faucet/faucet.ts'
import type { Transaction } from '../../transaction/wire.ts'
import { minContextSlotNotReached } from './errors.ts'
import type { FaultRule } from './faults.ts'
import { type Config, readCommitment, readOptionalInteger } from './params.ts'

/** The operations that only a localnet offers. */
export interface Admin {
  advance(seconds: number, slots: number | undefined): void
  advanceSlots(slots: number): void
  setFaults(rules: readonly FaultRule[]): void
  silence(silent: boolean): void
}

export interface Node {
  readonly bank: Bank
  readonly faucet: Faucet
  readonly genesisHash: string
  readonly admin: Admin
  /** The latest slots that this node has reached. */
  view(): View
  /** Forwards a transaction. Its landing is not guaranteed. */
  send(transaction: Transaction, maxRetries: number | undefined): void
}

export interface Method {
  /** The number of required parameters. */
  readonly required: number
  readonly run: (params: readonly unknown[], node: Node) => unknown
}

export function method(required: number, run: Method['run']): Method {
  return { required, run }
}

export type Methods = Readonly<Record<string, Method>>

/** The version of the VM's crates. */
export const coreVersion = '4.2.1'

/** The slot at which a request is answered. */
export function readBearing(config: Config, node: Node, fallback: Commitment = 'finalized') {
  const commitment = readCommitment(config, fallback)
  const view = node.view()
  const slot = view[commitment]
  const least = readOptionalInteger(config, 'minContextSlot')
  if (least !== undefined && slot < least) throw minContextSlotNotReached(slot)
  return { commitment, slot, view }
}

export type Bearing = ReturnType<typeof readBearing>

export function withContext(slot: number, value: unknown): unknown {
  return { context: { apiVersion: coreVersion, slot }, value }
}
