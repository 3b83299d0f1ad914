/** Upstreams that close a connection just as it is used again, and those that say something before they answer. */
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../harness/raw.ts'
import { createGatewayFixture, type GatewayFixture } from './gateway-fixture.ts'

let fixture: GatewayFixture
beforeAll(async () => {
  fixture = await createGatewayFixture()
})
afterAll(() => fixture.close())

/** An upstream in bytes: `answer` says what each request gets, by its number over all connections; nothing ends the connection. */
async function open(answer: (number: number) => string | undefined) {
  const heard: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      // A body that comes on its own is of the request before it.
      if (!/^[A-Z]+ \//.test(text)) return
      heard.push(text.split(' ')[0] ?? '')
      const said = answer(heard.length)
      if (said === undefined) socket.destroy()
      else socket.write(said)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  fixture.defer(() => void server.close())
  const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const methods = ['GET', 'POST', 'DELETE'] as const
  const gate = await fixture.open({ upstream, routes: [{ path: '/a', free: true, methods }] })
  const send = async (method: string, body?: string) => {
    const response = await fetch(`${gate.url}/a`, { method, ...(body !== undefined && { body }) })
    return [response.status, await response.text()]
  }
  return { gate, heard, send }
}
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

describe('a connection that was closed as it was used', () => {
  it('is made up for where nothing can be done twice', async () => {
    const { heard, send } = await open((number) => (number === 2 ? undefined : ok))
    expect(await send('GET')).toEqual([200, 'ok'])
    expect(await send('GET')).toEqual([200, 'ok'])
    expect(heard).toEqual(['GET', 'GET', 'GET'])
  })

  it('is made up for once', async () => {
    const { heard, send } = await open(() => undefined)
    expect((await send('GET'))[0]).toBe(502)
    expect(heard).toEqual(['GET', 'GET'])
  })

  it.each([
    ['DELETE', undefined],
    ['POST', 'x'],
  ])('is a 502 for %s, which may have done its work', async (method, body) => {
    const { heard, send } = await open((number) => (number === 2 ? undefined : ok))
    expect(await send('GET')).toEqual([200, 'ok'])
    expect((await send(method, body))[0]).toBe(502)
    expect(heard).toEqual(['GET', method])
  })
})

it('interim responses of an upstream are not taken for the response', async () => {
  const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Early: 1\r\n\r\n'
  const { gate } = await open(() => `${early}HTTP/1.1 201 Made\r\nX-Late: 1\r\nContent-Length: 2\r\n\r\nok`)
  const { status, headers, body } = await ask(gate.url, 'GET /a HTTP/1.1')
  expect([status, headers.get('x-early'), headers.get('x-late'), body]).toEqual([201, null, '1', 'ok'])
})
