/**
 * The Chain port over Solana nodes. It waits for a transaction to appear and reads it once for all concurrent callers.
 * With a watcher, most payments are read before their proof arrives.
 */
import type { Meter } from '../../core/observability/metrics.ts'
import type { Chain } from '../../core/ports/chain.ts'
import type { Clock, Log, Verifier } from '../../core/runtime.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { readFinality } from './finality.ts'
import { createNodeReader, type Pin } from './node-reader.ts'
import { createSharedReads } from './shared-reads.ts'
import { createSharedWatcher, type WatcherView } from './shared-watcher.ts'
import type { SignedTransactions } from './signed-transactions.ts'
import { createWatcher, type Watch } from './watcher.ts'

export interface ChainParts {
  /** The nodes. They are closed with the chain. */
  readonly rpc: Rpc
  readonly verifier: Verifier
  /** Transactions whose signatures need no verification. */
  readonly signed?: SignedTransactions
  /** The genesis hash that every node must have. If it is omitted, the first node's hash is used. */
  readonly genesis?: string
  readonly clock: Clock
  readonly log: Log
  readonly meter?: Meter
  /** The delay after which a second node, if configured, is asked beside a silent one. */
  readonly hedgeMs?: number
  /** Dependencies for reading payments before their proof. Without them, nothing is watched. */
  readonly watch?: Watch
}

/** The maximum wait for a payment that the watcher heard of. */
const heardWaitMs = 10_000

export function createChain(parts: ChainParts): Chain {
  const { rpc, verifier, signed, clock, log, meter, hedgeMs = 500 } = parts
  const pin: Pin = { hash: parts.genesis }
  const nodeReaders = rpc.nodes.map((node) => createNodeReader({ node, pin, verifier, signed, clock, log }))
  const onHedge = () => meter?.count('paystile_node_hedges_total')
  const reads = createSharedReads({ nodeReaders, clock, log, hedgeMs, onHedge, watcher: () => watcher })
  // The watcher heard of it, so callers that wait for it are served at once.
  const readHeard = (signature: string) => reads.join(signature, heardWaitMs, 'confirmed', 'sure')
  const watcher = openWatcher()
  function openWatcher(): WatcherView | undefined {
    if (!parts.watch) return undefined
    const { peers } = parts.watch
    const watcherParts = { ...parts.watch, nodeReaders, clock, log, read: readHeard, ...(meter && { meter }) }
    return peers ? createSharedWatcher({ ...watcherParts, peers, onSeen: reads.settle }) : createWatcher(watcherParts)
  }
  return {
    read: async (signature, waitMs, options = {}) => {
      const { commitment = 'confirmed', isDoubtful = false, isOld = false, isEnough = () => true } = options
      const effect = commitment === 'confirmed' ? watcher?.seen(signature) : undefined
      if (effect && isEnough(effect)) return { kind: 'found', effect }
      // A transaction that was seen exists, and a current watcher has heard of every existing one.
      const isSure = !isDoubtful && (effect !== undefined || commitment === 'finalized' || !watcher?.isCurrent())
      const trust = isSure ? 'sure' : isDoubtful ? 'doubtful' : 'usual'
      return reads.join(signature, waitMs, commitment, trust, isOld && !isDoubtful)
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
