import { describe, expect, it } from 'vitest'
import { coalesce } from './coalesce.ts'
import type { Call, RpcAnswer } from './rpc.ts'

/** A node that notes what it is asked. */
function stage(answerOf: (method: string, params: readonly unknown[]) => unknown) {
  const asked: (readonly [string, readonly unknown[]])[] = []
  const call: Call = async (method, params): Promise<RpcAnswer> => {
    asked.push([method, params])
    return { kind: 'answered', result: answerOf(method, params) }
  }
  return { asked, call: coalesce(call) }
}
const statusOf = (signature: unknown) => ({ of: signature })
const node = (method: string, [names]: readonly unknown[]) =>
  method === 'getSignatureStatuses'
    ? { context: { slot: 7 }, value: (names as readonly unknown[]).map(statusOf) }
    : `the answer to ${method}`

describe('questions of the same moment', () => {
  it('go out once where they are the same', async () => {
    const { asked, call } = stage(node)
    const [one, other, third] = await Promise.all([
      call('getBlockHeight', [{ commitment: 'finalized' }]),
      call('getBlockHeight', [{ commitment: 'finalized' }]),
      call('getBlockHeight', [{ commitment: 'confirmed' }]),
    ])
    expect([one, other, third]).toEqual(Array(3).fill({ kind: 'answered', result: 'the answer to getBlockHeight' }))
    expect(asked).toHaveLength(2)
  })

  it('ask for many statuses in one call, and each hears of its own', async () => {
    const { asked, call } = stage(node)
    const search = { searchTransactionHistory: false }
    const names = Array.from({ length: 300 }, (_, index) => `s${index}`)
    const answers = await Promise.all(names.map((name) => call('getSignatureStatuses', [[name], search])))
    expect(answers).toEqual(
      names.map((name) => ({ kind: 'answered', result: { context: { slot: 7 }, value: [statusOf(name)] } })),
    )
    expect(asked.map(([, [list, options]]) => [(list as readonly string[]).length, options])).toEqual([
      [256, search],
      [44, search],
    ])
  })

  it('are not mixed up where a node answers with another list', async () => {
    const { call } = stage(() => ({ context: { slot: 7 }, value: [statusOf('s1')] }))
    const answers = await Promise.all(['s1', 's2'].map((name) => call('getSignatureStatuses', [[name], {}])))
    expect(answers).toEqual(Array(2).fill({ kind: 'answered', result: { context: { slot: 7 }, value: undefined } }))
  })
})

it('never reuses the result of an earlier request', async () => {
  let time = 0
  const { asked, call } = stage(() => {
    time += 1
    return time
  })
  const [before] = await Promise.all([call('getGenesisHash', [])])
  expect(before).toEqual({ kind: 'answered', result: 1 })
  expect(await call('getGenesisHash', [])).toEqual({ kind: 'answered', result: 2 })
  expect(asked).toHaveLength(2)
})

it('sends every transaction, the same one again as well', async () => {
  const { asked, call } = stage(node)
  await Promise.all([call('sendTransaction', ['wire']), call('sendTransaction', ['wire'])])
  expect(asked).toHaveLength(2)
})
