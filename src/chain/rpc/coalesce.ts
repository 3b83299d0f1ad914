/**
 * Combines concurrent requests to a node: identical ones are sent once, and statuses share one call. A request never
 * receives an answer to an earlier request, so the order of reads is preserved.
 */
import { isFields } from '../../core/encoding/fields.ts'
import type { Call, Rpc, RpcAnswer } from './rpc.ts'

interface Asked {
  readonly method: string
  readonly params: readonly unknown[]
  readonly resolve: (answer: RpcAnswer | Promise<RpcAnswer>) => void
}

/** The maximum number of signatures per call. */
const mostSignatures = 256
const statuses = 'getSignatureStatuses'
/** Read-only methods for which identical requests are common. */
const shared: ReadonlySet<string> = new Set([
  statuses,
  'getBlockHeight',
  'getFirstAvailableBlock',
  'getGenesisHash',
  'getLatestBlockhash',
  'getMinimumBalanceForRentExemption',
  'getMultipleAccounts',
  'getSlot',
])

export function coalesceCalls({ nodes, call, close }: Rpc): Rpc {
  return { nodes: nodes.map((node) => ({ ...node, call: coalesce(node.call) })), call: coalesce(call), close }
}

export function coalesce(call: Call): Call {
  let waiting: Asked[] = []
  const flush = (): void => {
    const asked = waiting
    waiting = []
    for (const same of groupBy(asked, ({ method, params }) =>
      JSON.stringify(method === statuses ? [method, params[1]] : [method, params]),
    )) {
      if (same[0].method === statuses) askStatuses(call, same)
      else tell(same, call(same[0].method, same[0].params))
    }
  }
  return (method, params) => {
    if (!shared.has(method)) return call(method, params)
    return new Promise((resolve) => {
      if (waiting.length === 0) setTimeout(flush, 0)
      waiting.push({ method, params, resolve })
    })
  }
}

function askStatuses(call: Call, asked: Group): void {
  const single = asked.filter(({ params: [names] }) => Array.isArray(names) && names.length === 1)
  for (const one of asked) if (!single.includes(one)) tell([one], call(one.method, one.params))
  for (let start = 0; start < single.length; start += mostSignatures) {
    const part = single.slice(start, start + mostSignatures)
    const names = part.map(({ params: [own] }) => (own as readonly unknown[])[0])
    const answering = call(statuses, [names, ...(part[0]?.params.slice(1) ?? [])])
    for (const [index, { resolve }] of part.entries()) resolve(answering.then((answer) => pick(answer, index, names)))
  }
}

/** Picks one status out of many. A list of the wrong length makes all of them unusable. */
function pick(answer: RpcAnswer, index: number, { length }: readonly unknown[]): RpcAnswer {
  if (answer.kind !== 'answered' || !isFields(answer.result)) return answer
  const { value } = answer.result
  const own = Array.isArray(value) && value.length === length ? [value[index]] : undefined
  return { kind: 'answered', result: { ...answer.result, value: own } }
}

type Group = readonly [Asked, ...Asked[]]

function groupBy(asked: readonly Asked[], nameOf: (one: Asked) => string): Iterable<Group> {
  const groups = new Map<string, [Asked, ...Asked[]]>()
  for (const one of asked) {
    const group = groups.get(nameOf(one))
    if (group) group.push(one)
    else groups.set(nameOf(one), [one])
  }
  return groups.values()
}

function tell(asked: readonly Asked[], answer: Promise<RpcAnswer>): void {
  for (const { resolve } of asked) resolve(answer)
}
