import { expect, it } from 'vitest'
import { createTurns } from './turns.ts'

it('gives callers of one name their turns in order, and others theirs at once', async () => {
  const turns = createTurns(10)
  const order: string[] = []
  const work = async (name: string, label: string) => {
    const end = await turns.take(name)
    order.push(`${label} begins`)
    await Promise.resolve()
    order.push(`${label} ends`)
    end?.()
  }
  await Promise.all([work('a', '1'), work('a', '2'), work('b', 'other')])
  expect(order).toEqual(['1 begins', 'other begins', '1 ends', 'other ends', '2 begins', '2 ends'])
})

it('refuses a caller behind too many others, until one of them has ended', async () => {
  const turns = createTurns(1)
  expect(turns.isFree('a')).toBe(true)
  const end = await turns.take('a')
  expect([turns.isFree('a'), turns.isFree('b')]).toEqual([false, true])
  const second = turns.take('a')
  expect(turns.take('a')).toBeUndefined()
  end?.()
  ;(await second)?.()
  expect(turns.isFree('a')).toBe(true)
  expect(turns.take('a')).toBeDefined()
})
