import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createInFlight } from './in-flight.ts'

it('counts running requests, in any order of their ends, and ignores repeated ends', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 }), { maxLength: 60 }), (steps) => {
      const running = createInFlight()
      const open = new Map<number, () => void>()
      const over: (() => void)[] = []
      for (const step of steps) {
        const end = open.get(step)
        if (end) {
          end()
          over.push(end)
          open.delete(step)
        } else open.set(step, running.begin())
        for (const again of over) again()
        expect(running.count()).toBe(open.size)
      }
    }),
  )
})

it('drains with the last request, and aborts the remaining ones', async () => {
  const running = createInFlight()
  const broken: string[] = []
  const ends = ['a', 'b', 'c'].map((name) => running.begin(() => broken.push(name)))
  let isDrained = false
  const drained = running.drained().then(() => {
    isDrained = true
  })
  ends[1]?.()
  await Promise.resolve()
  expect(isDrained).toBe(false)
  running.breakOff()
  expect(broken.sort()).toEqual(['a', 'c'])
  ends[0]?.()
  ends[2]?.()
  await drained
  await running.drained()
})

it('aborts requests that end during the abort', () => {
  const running = createInFlight()
  const ends: (() => void)[] = []
  for (let index = 0; index < 5; index += 1) ends.push(running.begin(() => ends[index]?.()))
  running.breakOff()
  expect(running.count()).toBe(0)
})
