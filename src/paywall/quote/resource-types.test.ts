import { expect, it } from 'vitest'
import { createResourceTypes } from './resource-types.ts'

it('remembers the last type of each path, whatever its query', () => {
  const types = createResourceTypes()
  expect(types.isJson('/a')).toBeUndefined()
  types.note('/a?x=1', true)
  types.note('/b', false)
  expect([types.isJson('/a'), types.isJson('/a?y'), types.isJson('/b'), types.isJson('/c')]).toEqual([
    true,
    true,
    false,
    undefined,
  ])
  types.note('/a', false)
  expect(types.isJson('/a?x=1')).toBe(false)
})

it('forgets rather than grows without limit', () => {
  const types = createResourceTypes()
  for (let index = 0; index <= 1_000; index += 1) types.note(`/${index}`, true)
  expect([types.isJson('/0'), types.isJson('/1000')]).toEqual([undefined, true])
})
