import { expect, it } from 'vitest'
import { createNodeStates } from './node-states.ts'
import { callOneByOne, type RpcAnswer } from './rpc.ts'

const answers: readonly RpcAnswer[] = [
  { kind: 'answered', result: 120 },
  { kind: 'answered', result: 97 },
  { kind: 'answered', result: '<b>' },
  { kind: 'refused', code: -32005, message: 'behind https://node/?key=secret', data: undefined },
  { kind: 'unavailable', why: 'the node did not respond in time' },
]

it('tells which nodes respond and how many slots they lag, and asks them once in five seconds', async () => {
  let [now, calls] = [0, 0]
  const nodes = answers.map((answer, index) => {
    const call = async () => {
      calls += 1
      return answer
    }
    return { name: `node ${index + 1}`, call, callWithGenesis: callOneByOne(call) }
  })
  const read = createNodeStates({ nodes }, () => now)
  const states = await read()
  expect(states.map(({ name, slot, lag, why }) => [name, slot, lag, why])).toEqual([
    ['node 1', 120, 0, ''],
    ['node 2', 97, 23, ''],
    ['node 3', undefined, undefined, 'its answer is not a slot'],
    ['node 4', undefined, undefined, 'it refuses the call with code -32005'],
    ['node 5', undefined, undefined, 'the node did not respond in time'],
  ])
  now = 5_000
  await read()
  expect(calls).toBe(5)
  now = 5_001
  await read()
  expect(calls).toBe(10)
})
