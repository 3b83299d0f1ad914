// @isolated: one test loads the modules again, with a wrapper of a method of Node.
import { createServer, type Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { sendRaw } from '../../../tests/harness/raw.ts'
import type { Answer } from '../../core/http/http.ts'
import { writeAnswerHead } from './repeated-head.ts'

const body = '{"price":"0.01"}'
const headers = { 'Content-Type': 'application/json', Vary: 'Accept', 'Content-Length': String(body.length) }

function answerWith(status: number, own: Readonly<Record<string, string>> = headers): Answer {
  return { kind: 'answer', status, headers: Object.freeze({ ...own }), body }
}

let close = () => {}
beforeEach(() => {
  // The repetition ends by a timer.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.runAllTimers()
  vi.useRealTimers()
  vi.restoreAllMocks()
  close()
})

interface Visit {
  readonly request: string
  readonly prepare?: (response: ServerResponse) => void
  readonly configure?: (server: Server) => void
}

/** The texts of three responses on connections of their own, without the value of `Date`. */
async function exchange({ request, prepare, configure }: Visit, write: (response: ServerResponse) => void) {
  const server = createServer((_request, response) => {
    prepare?.(response)
    write(response)
    response.end(body)
  })
  configure?.(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => {
    server.close()
    server.closeAllConnections()
  }
  const texts: string[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    // The second request lets the server end the connection.
    const requests = `${request}\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
    const text = await sendRaw(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests)
    texts.push(text.replaceAll(/^Date: .*$/gm, 'Date:'))
  }
  close()
  return texts
}

const get = 'GET / HTTP/1.1\r\nHost: a'
const visits: readonly (readonly [string, Visit])[] = [
  ['GET', { request: get }],
  ['HEAD', { request: 'HEAD / HTTP/1.1\r\nHost: a' }],
  ['HTTP/1.0', { request: 'GET / HTTP/1.0' }],
  ['HTTP/1.0 that stays open', { request: 'GET / HTTP/1.0\r\nConnection: keep-alive' }],
  ['Connection: close', { request: `${get}\r\nConnection: close` }],
  ['Expect', { request: `${get}\r\nExpect: 100-continue` }],
  ['Expect without an interim answer', { request: `${get}\r\nExpect: 100-continue`, configure: ignoreExpect }],
  [
    'a server with another timeout',
    { request: get, configure: (server) => void Object.assign(server, { keepAliveTimeout: 7_000 }) },
  ],
  [
    'a server without a timeout',
    { request: get, configure: (server) => void Object.assign(server, { keepAliveTimeout: 0 }) },
  ],
  [
    'the last request of a connection',
    { request: `${get}\r\n\r\n${get}`, configure: (server) => void Object.assign(server, { maxRequestsPerSocket: 2 }) },
  ],
  [
    'a limited connection',
    { request: get, configure: (server) => void Object.assign(server, { maxRequestsPerSocket: 9 }) },
  ],
  ['a header of the application', { request: get, prepare: (response) => void response.setHeader('X-Own', 'yes') }],
  ['its own type', { request: get, prepare: (response) => void response.setHeader('Content-Type', 'text/plain') }],
  ['its own length', { request: get, prepare: (response) => void response.setHeader('Content-Length', '99') }],
  ['its own date', { request: get, prepare: (response) => void response.setHeader('Date', 'today') }],
  [
    'its own encoding',
    { request: get, prepare: (response) => void response.setHeader('Transfer-Encoding', 'chunked') },
  ],
  ['its own cookies', { request: get, prepare: (response) => void response.setHeader('Set-Cookie', ['a=1', 'b=2']) }],
  ['a header that it removed', { request: get, prepare: (response) => setAndRemove(response) }],
  ['its own connection', { request: get, prepare: (response) => void response.setHeader('Connection', 'close') }],
  ['a removed connection', { request: get, prepare: (response) => response.removeHeader('Connection') }],
  ['no date', { request: get, prepare: (response) => void Object.assign(response, { sendDate: false }) }],
  [
    'another reason',
    { request: get, prepare: (response) => void Object.assign(response, { statusMessage: 'Pay First' }) },
  ],
  ['no keep-alive', { request: get, prepare: (response) => void Object.assign(response, { shouldKeepAlive: false }) }],
]

function setAndRemove(response: ServerResponse): void {
  response.setHeader('X-Own', 'yes').removeHeader('X-Own')
}

function ignoreExpect(server: Server): void {
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
}

it.each(visits)('writes the same bytes as Node: %s', async (_name, visit) => {
  const answers = [
    answerWith(402),
    answerWith(204),
    answerWith(204, {}),
    answerWith(402, { 'Content-Type': 'text/plain' }),
  ]
  for (const answer of answers) {
    const byNode = await exchange(visit, (response) => response.writeHead(answer.status, answer.headers))
    // Heads of ordinary responses, for the others to differ from.
    await exchange({ request: get }, (response) => writeAnswerHead(response, answer))
    expect(await exchange(visit, (response) => writeAnswerHead(response, answer))).toEqual(byNode)
  }
})

it('lets Node write a head once in half a second, on every supported version of Node', async () => {
  const store = vi.spyOn(ServerResponse.prototype as ServerResponse & { _storeHeader: () => void }, '_storeHeader')
  const answer = answerWith(402)
  const write = (response: ServerResponse) => writeAnswerHead(response, answer)
  // Of two requests on a connection, the last one ends it and has a head of its own.
  await exchange({ request: get }, write)
  expect(store).toHaveBeenCalledTimes(1 + 3)
  vi.advanceTimersByTime(500)
  await exchange({ request: get }, write)
  expect(store).toHaveBeenCalledTimes(2 + 6)
})

it('repeats a head with headers of the application, and tells them all afterwards', async () => {
  const store = vi.spyOn(ServerResponse.prototype as ServerResponse & { _storeHeader: () => void }, '_storeHeader')
  const answer = answerWith(402)
  const told: unknown[] = []
  const exchangeWith = (own: string) =>
    exchange({ request: get, prepare: (response) => void response.setHeader('X-Own', own) }, (response) => {
      writeAnswerHead(response, answer)
      told.push(response.getHeaders())
    })
  const all = { 'x-own': 'yes', 'content-type': 'application/json', vary: 'Accept', 'content-length': '16' }
  for (const text of await exchangeWith('yes')) expect(text).toContain('X-Own: yes')
  expect(told).toEqual(Array(6).fill(all))
  // Of two requests on a connection, the last one ends it and has a head of its own.
  expect(store).toHaveBeenCalledTimes(1 + 3)
  for (const text of await exchangeWith('no')) expect(text).toContain('X-Own: no')
  expect(told.slice(6)).toEqual(Array(6).fill({ ...all, 'x-own': 'no' }))
})

it('states the status, its reason and the length', async () => {
  const answer = answerWith(402)
  const seen: unknown[] = []
  await exchange({ request: get }, (response) => {
    writeAnswerHead(response, answer)
    seen.push([response.statusCode, response.statusMessage, Reflect.get(response, '_contentLength')])
  })
  expect(new Set(seen.map(String))).toEqual(new Set([`402,Payment Required,${body.length}`]))
})

it('keeps the heads of different statuses and headers apart', async () => {
  const shared = answerWith(402)
  const others = [shared, { ...shared, status: 403 }, answerWith(402, { ...headers, Vary: 'Origin' })]
  for (const answer of others) {
    const [text] = await exchange({ request: get }, (response) => writeAnswerHead(response, answer))
    const [first] = String(text).split('\r\n\r\n')
    expect(first).toContain(`HTTP/1.1 ${answer.status} `)
    expect(first).toContain(`Vary: ${answer.headers['Vary']}\r\n`)
  }
})

it.each<[string, Answer, (response: ServerResponse) => void]>([
  ['headers of one answer', { ...answerWith(402), headers: { ...headers } }, () => {}],
  [
    'a response with a replaced method',
    answerWith(402),
    (response) => {
      response.writeHead = response.writeHead.bind(response) as typeof response.writeHead
    },
  ],
])('leaves %s to Node', async (_name, answer, prepare) => {
  const store = vi.spyOn(ServerResponse.prototype as ServerResponse & { _storeHeader: () => void }, '_storeHeader')
  await exchange({ request: get, prepare }, (response) => writeAnswerHead(response, answer))
  expect(store).toHaveBeenCalledTimes(6)
})

it('leaves every head to a wrapper of the method', async () => {
  const { writeHead } = ServerResponse.prototype
  const wrapper = vi.fn(function (this: ServerResponse, ...args: Parameters<typeof writeHead>) {
    return writeHead.apply(this, args)
  })
  ServerResponse.prototype.writeHead = wrapper as typeof writeHead
  try {
    vi.resetModules()
    const wrapped = await import('./repeated-head.ts')
    const answer = answerWith(402)
    await exchange({ request: get }, (response) => wrapped.writeAnswerHead(response, answer))
    expect(wrapper).toHaveBeenCalledTimes(6)
  } finally {
    ServerResponse.prototype.writeHead = writeHead
  }
})

it('refuses a second head, as Node does', async () => {
  const answer = answerWith(402)
  const codes: unknown[] = []
  await exchange({ request: get }, (response) => {
    writeAnswerHead(response, answer)
    try {
      writeAnswerHead(response, answer)
    } catch (error) {
      codes.push(Reflect.get(Object(error), 'code'))
    }
  })
  expect(codes).toEqual(Array(6).fill('ERR_HTTP_HEADERS_SENT'))
})
