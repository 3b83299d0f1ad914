/**
 * Opens missing token accounts of a recipient at the expense of a key from the provider. The key is used for nothing
 * else.
 */
import type { Mint } from '../../core/money/tokens.ts'
import type { Opening } from '../../core/ports/chain.ts'
import type { Wallet } from '../keys/keypair.ts'
import { confirm, readLifetime, type SendParts, submit } from '../send/send.ts'
import { signOpening } from './payment.ts'

export interface OpeningOrder {
  readonly recipient: string
  readonly mint: Pick<Mint, 'address' | 'tokenProgram'>
  readonly wallet: () => Promise<Wallet>
}

export interface Opener {
  /** Concurrent calls for one account share one attempt. The next attempt is possible five minutes later. */
  open(order: OpeningOrder): Promise<Opening>
  /** Stops waiting. */
  stop(): void
}

const restMs = 300_000
/** One round of waiting. After each round it checks whether any caller still waits. */
const roundMs = 5_000
const longestWaitMs = 60_000

export function createOpener(parts: SendParts): Opener {
  const { clock } = parts
  const attempts = new Map<string, { readonly begun: number; readonly result: Promise<Opening>; isOver: boolean }>()
  let stopped = false
  return {
    open: (order) => {
      const name = `${order.recipient} ${order.mint.address} ${order.mint.tokenProgram}`
      const last = attempts.get(name)
      if (last && !last.isOver) return last.result
      if (last && clock.monotonic() - last.begun < restMs) return Promise.resolve({ kind: 'resting' })
      const result = attemptOpening(parts, order, () => stopped).catch(
        (error: unknown): Opening => ({ kind: 'failed', why: error instanceof Error ? error.message : String(error) }),
      )
      const attempt = { begun: clock.monotonic(), result, isOver: false }
      attempts.set(name, attempt)
      return result.finally(() => {
        attempt.isOver = true
      })
    },
    stop: () => {
      stopped = true
    },
  }
}

async function attemptOpening(parts: SendParts, order: OpeningOrder, isStopped: () => boolean): Promise<Opening> {
  const wallet = await order.wallet()
  const lifetime = await readLifetime(parts.rpc)
  if (!lifetime) return { kind: 'failed', why: 'no node returned a recent blockhash' }
  const signed = await signOpening(order.recipient, order.mint, lifetime, wallet)
  const submission = await submit(parts.rpc, signed)
  if (submission.kind === 'rejected')
    return { kind: 'failed', why: `${submission.why}; does ${wallet.address} hold SOL?` }
  const end = parts.clock.monotonic() + longestWaitMs
  while (!isStopped() && parts.clock.monotonic() < end) {
    const fate = await confirm(parts, signed, roundMs)
    if (fate.kind === 'landed') return { kind: 'opened', tx: signed.signature }
    if (fate.kind === 'failed') return { kind: 'failed', why: `it failed on chain (${fate.error})` }
    if (fate.kind === 'expired') return { kind: 'failed', why: 'it did not reach the chain in time' }
  }
  return { kind: 'failed', why: 'it was not confirmed in time' }
}
