/**
 * The Chain port over Solana nodes: waits for a transaction to appear, and reads it once for all who ask at the time.
 * With a watcher most payments are read before anybody asks.
 */
import type { Meter } from '../../core/encoding/metrics.ts'
import type { Chain } from '../../core/ports/chain.ts'
import type { Clock, Log, Verifier } from '../../core/runtime.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { readFinality } from './finality.ts'
import { createNodeReader, type Pin } from './node-reader.ts'
import { createSharedReads } from './shared-reads.ts'
import { createWatcher, type Watch } from './watcher.ts'

export interface ChainParts {
  /** The nodes. They are closed with the chain. */
  readonly rpc: Rpc
  readonly verifier: Verifier
  /** The genesis hash every node must have. Where it is left out, the first node's is taken. */
  readonly genesis?: string
  readonly clock: Clock
  readonly log: Log
  readonly meter?: Meter
  /** After how long a silent node is no longer waited for alone, where another is configured. */
  readonly hedgeMs?: number
  /** What reading payments ahead of their proof needs. Without it nothing is watched. */
  readonly watch?: Watch
}

/** How long a payment that the watcher heard of is waited for. */
const heardWaitMs = 10_000

export function createChain(parts: ChainParts): Chain {
  const { rpc, verifier, clock, log, meter, hedgeMs = 500 } = parts
  const pin: Pin = { hash: parts.genesis }
  const nodeReaders = rpc.nodes.map((node) => createNodeReader({ node, pin, verifier, clock, log }))
  const onHedge = () => meter?.count('paystile_node_hedges_total')
  const reads = createSharedReads({ nodeReaders, clock, log, hedgeMs, onHedge, watcher: () => watcher })
  // The watcher heard of it: a reader who waits for it need not wait longer.
  const readHeard = (signature: string) => reads.join(signature, heardWaitMs, 'confirmed', 'sure')
  const watcher =
    parts.watch && createWatcher({ ...parts.watch, nodeReaders, clock, log, read: readHeard, ...(meter && { meter }) })
  return {
    read: async (signature, waitMs, options = {}) => {
      const { commitment = 'confirmed', isDoubtful = false, isAnew = false } = options
      const effect = commitment === 'confirmed' ? watcher?.seen(signature) : undefined
      if (effect && !isAnew) return { kind: 'found', effect }
      // A transaction that was seen exists; and a current watcher has heard of every one that exists.
      const isSure = !isDoubtful && (isAnew || commitment === 'finalized' || !watcher?.isCurrent())
      return reads.join(signature, waitMs, commitment, isSure ? 'sure' : isDoubtful ? 'doubtful' : 'usual')
    },
    seen: (signature) => watcher?.seen(signature),
    watch: (address) => watcher?.watch(address),
    fatesOf: (landed) => readFinality(nodeReaders, landed),
    async close() {
      reads.close()
      const watched = watcher?.close()
      rpc.close()
      await watched
    },
  }
}
