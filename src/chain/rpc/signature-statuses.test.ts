import { describe, expect, it } from 'vitest'
import type { Call, RpcAnswer } from './rpc.ts'
import { createStatusPoller } from './signature-statuses.ts'

const confirmed = { slot: 1, confirmations: 1, err: null, confirmationStatus: 'confirmed' }
const answered = (value: unknown): RpcAnswer => ({ kind: 'answered', result: { context: { slot: 1 }, value } })

describe('createLookout', () => {
  it('sends the first request at once, and combines later ones', async () => {
    const asked: (readonly string[])[] = []
    const call: Call = async (_method, [signatures]) => {
      asked.push(signatures as readonly string[])
      await new Promise((resolve) => setTimeout(resolve, 5))
      return answered((signatures as readonly string[]).map((one) => (one === 'there' ? confirmed : null)))
    }
    const lookout = createStatusPoller(call)
    const names = ['first', 'second', 'there', 'fourth']
    expect(await Promise.all(names.map((name) => lookout(name, 'confirmed')))).toEqual([false, false, true, false])
    expect(asked).toEqual([['first'], ['second', 'there', 'fourth']])
    expect(await lookout('later', 'confirmed')).toBe(false)
    expect(asked).toHaveLength(3)
  })

  it('asks for no more than a node takes, and waits the longer the more there are', async () => {
    const [sizes, pauses]: [number[], number[]] = [[], []]
    const call: Call = async (_method, [signatures]) => {
      sizes.push((signatures as readonly string[]).length)
      return answered((signatures as readonly string[]).map(() => null))
    }
    const lookout = createStatusPoller(call, async (ms) => void pauses.push(ms))
    await Promise.all(Array.from({ length: 600 }, (_, index) => lookout(`${index}`, 'confirmed')))
    await new Promise((resolve) => setImmediate(resolve))
    await Promise.all(Array.from({ length: 6 }, (_, index) => lookout(`${index}`, 'confirmed')))
    await new Promise((resolve) => setImmediate(resolve))
    expect(sizes).toEqual([1, 256, 256, 87, 1, 5])
    expect(pauses).toEqual([2_500, 2_500, 1_740, 100])
  })

  it.each<[string, RpcAnswer, boolean]>([
    ['confirmed', answered([confirmed]), true],
    ['finalized', answered([{ ...confirmed, confirmationStatus: 'finalized' }]), true],
    ['failed, which is for the reader of the transaction to see', answered([{ ...confirmed, err: {} }]), true],
    ['processed', answered([{ ...confirmed, confirmationStatus: 'processed' }]), false],
    ['absent', answered([null]), false],
    ['something else', answered([7]), true],
    ['one too few', answered([]), true],
    ['one too many', answered([null, null]), true],
    ['no list', answered(null), true],
    ['a refusal', { kind: 'refused', code: -32601, message: '', data: undefined }, true],
    ['nothing', { kind: 'unavailable', why: 'gone' }, true],
  ])('%s', async (_name, answer, appeared) => {
    expect(await createStatusPoller(async () => answer)('one', 'confirmed')).toBe(appeared)
  })

  it('does not wait long for a node that hangs', async () => {
    let isHanging = true
    const lookout = createStatusPoller((_method, [signatures]) => {
      const list = signatures as readonly string[]
      return isHanging ? new Promise(() => {}) : Promise.resolve(answered(list.map(() => confirmed)))
    })
    void lookout('first', 'confirmed')
    await Promise.resolve()
    isHanging = false
    expect(await lookout('second', 'confirmed')).toBe(true)
  })

  it('tells confirmed from finalized', async () => {
    const lookout = createStatusPoller(async () => answered([confirmed]))
    expect([await lookout('one', 'confirmed'), await lookout('one', 'finalized')]).toEqual([true, false])
    const final = createStatusPoller(async () => answered([{ ...confirmed, confirmationStatus: 'finalized' }]))
    expect([await final('one', 'confirmed'), await final('one', 'finalized')]).toEqual([true, true])
  })
})
