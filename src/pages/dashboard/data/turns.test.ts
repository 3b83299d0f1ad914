import { expect, it } from 'vitest'
import { waitTurn } from './turns.ts'

it('runs each work in a task of its own, in order, and none that was cancelled', async () => {
  const done: string[] = []
  const isOver = new Promise<void>((resolve) => {
    for (const name of ['one', 'two', 'three']) {
      const cancel = waitTurn(() => {
        done.push(name)
        // Comes before the next task.
        queueMicrotask(() => done.push(`after ${name}`))
        if (name === 'one') waitTurn(resolve)
      })
      if (name === 'two') cancel()
    }
  })
  expect(done).toEqual([])
  await isOver
  expect(done).toEqual(['one', 'after one', 'three', 'after three'])
})
