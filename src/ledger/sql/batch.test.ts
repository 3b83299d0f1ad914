import { describe, expect, it } from 'vitest'
import { createBatch } from './batch.ts'

/** A batch that records the items of each piece of work, and doubles them. */
function createDoubling(fails: (items: readonly number[]) => boolean = () => false) {
  const worked: (readonly number[])[] = []
  const batch = createBatch(async (items: readonly number[]) => {
    worked.push(items)
    if (fails(items)) throw new Error('broken')
    return items.map((item) => item * 2)
  })
  return { batch, worked }
}

describe('a batch', () => {
  it('serves jobs of the same moment together, 256 at most, and each gets its own result', async () => {
    const { batch, worked } = createDoubling()
    const numbers = Array.from({ length: 600 }, (_, index) => index)
    const results = await Promise.all(numbers.map((number) => batch.run(`key ${number}`, number)))
    expect(results).toEqual(numbers.map((number) => number * 2))
    expect(worked).toEqual([numbers.slice(0, 256), numbers.slice(256, 512), numbers.slice(512)])
  })

  it('serves jobs of one key one after the other, and jobs of other keys meanwhile', async () => {
    const { batch, worked } = createDoubling()
    const jobs = [
      ['a', 1],
      ['a', 2],
      ['b', 3],
      ['a', 4],
    ] as const
    await Promise.all(jobs.map(([key, item]) => batch.run(key, item)))
    expect(worked).toEqual([[1, 3], [2], [4]])
  })

  it('fails the jobs of broken work, and goes on with the next', async () => {
    const { batch } = createDoubling((items) => items.includes(1))
    const results = await Promise.allSettled([batch.run('a', 1), batch.run('b', 2), batch.run('a', 3)])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    await batch.drain()
  })
})
