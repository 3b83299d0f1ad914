import { expect, it } from 'vitest'
import { mapLimit } from './map-limit.ts'

it('works on a few things at a time, and keeps their order', async () => {
  let [running, most] = [0, 0]
  const results = await mapLimit([5, 1, 4, 2, 3, 0], 3, async (turns) => {
    running += 1
    most = Math.max(most, running)
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
    running -= 1
    return turns * 10
  })
  expect(results).toEqual([50, 10, 40, 20, 30, 0])
  expect(most).toBe(3)
})

it('rejects with the first error, and resolves for an empty list', async () => {
  await expect(mapLimit([1, 2], 2, async (item) => Promise.reject(new Error(`${item}`)))).rejects.toThrow('1')
  expect(await mapLimit([], 8, async () => 1)).toEqual([])
})
