/** Reads the parts of a node's response that many methods share. */

import { isFields } from '../../core/encoding/fields.ts'
import { readCount } from './json.ts'
import type { Call, RpcAnswer } from './rpc.ts'

/** Reads a slot or a block height. Undefined if the node does not report it. */
export async function readNumber(call: Call, method: string, params: readonly unknown[]): Promise<number | undefined> {
  const answer = await call(method, params)
  return answer.kind === 'answered' ? readCount(answer.result) : undefined
}

/** Many results come with the slot at which they were read. */
export function resultValue(answer: RpcAnswer): unknown {
  return answer.kind === 'answered' && isFields(answer.result) ? answer.result['value'] : undefined
}

export function resultSlot(answer: RpcAnswer): number | undefined {
  const context = answer.kind === 'answered' && isFields(answer.result) ? answer.result['context'] : undefined
  return isFields(context) ? readCount(context['slot']) : undefined
}

/** The reason why a response has no usable result. */
export function describeFailure(answer: RpcAnswer, unreadable: string): string {
  if (answer.kind === 'refused') return `the node refused with code ${answer.code}`
  return answer.kind === 'unavailable' ? answer.why : unreadable
}
