/** The state of each node, for the operator: whether it responds, and how far it is behind the others. */
import type { NodeState } from '../../core/ports/chain.ts'
import type { Node, Rpc } from './rpc.ts'

/** The nodes are asked at most once in this time. */
const keepMs = 5_000

export function createNodeStates({ nodes }: Pick<Rpc, 'nodes'>, monotonic: () => number) {
  let last: { readonly at: number; readonly states: Promise<readonly NodeState[]> } | undefined
  return (): Promise<readonly NodeState[]> => {
    const at = monotonic()
    if (!last || at - last.at > keepMs) last = { at, states: readStates(nodes, monotonic) }
    return last.states
  }
}

async function readStates(nodes: readonly Node[], monotonic: () => number): Promise<readonly NodeState[]> {
  const found = await Promise.all(
    nodes.map(async ({ name, call }) => {
      const start = monotonic()
      const answer = await call('getSlot', [{ commitment: 'processed' }])
      const isSlot = answer.kind === 'answered' && Number.isSafeInteger(answer.result)
      return {
        name,
        slot: isSlot ? (answer.result as number) : undefined,
        latencyMs: Math.round(monotonic() - start),
        why: isSlot ? '' : explain(answer),
      }
    }),
  )
  const highest = Math.max(0, ...found.map(({ slot = 0 }) => slot))
  return found.map((node) => ({ ...node, lag: node.slot === undefined ? undefined : highest - node.slot }))
}

function explain(answer: Awaited<ReturnType<Node['call']>>): string {
  if (answer.kind === 'unavailable') return answer.why
  return answer.kind === 'refused' ? `it refuses the call with code ${answer.code}` : 'its answer is not a slot'
}
