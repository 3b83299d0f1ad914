import { expect, it } from 'vitest'
import { type Ending, readExtent, watchBody } from './body.ts'

const pause = () => new Promise((resolve) => setTimeout(resolve, 10))

it('reports a body as broken, once, if its reader cancels it during a read', async () => {
  const endings: Ending[] = []
  const endless = new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) }))
  const { body } = await watchBody(endless, {
    extent: readExtent(endless, false, undefined),
    end: async (ending) => void endings.push(ending),
    exhausted: () => new Error('not cut'),
  })
  const reader = body?.getReader() ?? expect.fail('no body')
  await reader.read()
  const next = reader.read()
  await pause()
  await reader.cancel()
  expect((await next).done).toBe(true)
  await pause()
  expect(endings).toEqual(['broken'])
})
