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

it('T230: reads no body ahead beyond the bytes that the server counts, however long it is', async () => {
  let sent = 0
  const endless = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        sent += 65_536
        // A client that reads on would fill the memory.
        if (sent > 50_000_000) controller.error(new Error('too much was read'))
        else controller.enqueue(new Uint8Array(65_536))
      },
    },
    { highWaterMark: 0 },
  )
  const response = new Response(endless)
  const { body } = await watchBody(response, {
    extent: readExtent(response, false, { unit: 'byte', remaining: 100_000 }),
    end: async () => {},
    exhausted: () => new Error('not cut'),
  })
  await pause()
  expect(sent).toBeLessThan(1_000_000)
  const reader = body?.getReader() ?? expect.fail('no body')
  for (let read = 0; read < 1_000_000; ) read += (await reader.read()).value?.byteLength ?? 0
  await reader.cancel()
})
