/** What is sold by the byte: a server of files with ranges and ETags as the provider likes them, and a line that breaks. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, connect as openTcp, type Socket } from 'node:net'
import { create402Middleware } from '../../src/adapters/node.ts'
import { parseRange } from '../../src/core/http/content-range.ts'
import { listen, type Serve } from '../harness/adapters.ts'
import type { ClientFixture } from './client-fixture.ts'

export interface Volume {
  bytes: Buffer
  etag?: string | undefined
  lastModified?: string
  /** False ignores `Range`. */
  hasRanges?: boolean
  /** Sends without saying how long it is. */
  isChunked?: boolean
  /** Sends no more than this until the connection is gone: what the network takes at once counts as delivered. */
  stallAt?: number | undefined
  /** What the handler was asked for. */
  readonly asked: { readonly range: string | undefined; readonly ifRange: string | undefined }[]
}

export function createVolume(size: number, more: Partial<Volume> = {}): Volume {
  return { bytes: Buffer.from(noise(size)), etag: '"first"', asked: [], ...more }
}

/** Bytes of which no two stretches are alike. */
export function noise(size: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(size)
  for (let at = 0, state = seed; at < size; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    bytes[at] = state >>> 16
  }
  return bytes
}

/** With `together`, no response begins before that many requests are running. */
export function serveVolume(volume: Volume, together = 1): Serve {
  return async (options) => {
    const paid = create402Middleware(options)
    const waiting: (() => void)[] = []
    const begin = (request: IncomingMessage, response: ServerResponse): void => {
      waiting.push(() => answer(volume, request, response))
      if (waiting.length >= together) for (const run of waiting.splice(0)) run()
    }
    return listen(
      createServer((request, response) => paid(request, response, () => begin(request, response))),
      paid,
    )
  }
}

export function answer(volume: Volume, request: IncomingMessage, response: ServerResponse): void {
  const { bytes, etag, lastModified, hasRanges = true, isChunked = false } = volume
  const { range, 'if-range': ifRange } = request.headers
  volume.asked.push({ range, ifRange: ifRange as string | undefined })
  const size = BigInt(bytes.length)
  const isCurrent = ifRange === undefined || ifRange === etag || ifRange === lastModified
  const span = hasRanges && isCurrent ? parseRange(range, size) : undefined
  if (etag !== undefined) response.setHeader('ETag', etag)
  if (lastModified !== undefined) response.setHeader('Last-Modified', lastModified)
  const beyond = hasRanges && isCurrent && BigInt(/^bytes=(\d+)-/.exec(range ?? '')?.[1] ?? -1) >= size
  if (beyond) {
    response.writeHead(416, { 'Content-Range': `bytes */${size}` }).end()
    return
  }
  const [from, to] = span ? [Number(span.from), Number(span.to)] : [0, bytes.length]
  if (!isChunked) response.setHeader('Content-Length', to - from)
  if (span) response.setHeader('Content-Range', `bytes ${from}-${to - 1}/${size}`)
  response.statusCode = span ? 206 : 200
  void write(response, bytes.subarray(from, to), volume.stallAt)
}

async function write(response: ServerResponse, bytes: Buffer, stallAt = bytes.length): Promise<void> {
  const step = 16_384
  const gone = once(response, 'close')
  for (let at = 0; at < bytes.length && !response.destroyed; at += step) {
    if (at >= stallAt) await gone
    if (!response.write(bytes.subarray(at, at + step))) {
      await Promise.race([once(response, 'drain'), gone])
    }
  }
  response.end()
}

export interface Line {
  readonly url: string
  /** Breaks the connection after so many bytes have come back over it, counted from now. */
  cutAfter(bytes: number): void
  /** Leads elsewhere from now on. */
  leadTo(url: string): void
}

/** A line to a server, on which bytes pass as they are. */
export async function openLine(fixture: ClientFixture, target: string): Promise<Line> {
  let { port } = new URL(target)
  let left = Number.POSITIVE_INFINITY
  const sockets = new Set<Socket>()
  const server = createTcpServer((near) => {
    const far = openTcp(Number(port), '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        for (const end of [near, far]) end.destroy()
        sockets.delete(socket)
      })
    }
    near.pipe(far)
    far.on('data', (chunk) => {
      const part = chunk.subarray(0, left)
      left -= part.length
      if (!near.destroyed && part.length > 0 && !near.write(part)) {
        far.pause()
        near.once('drain', () => far.resume())
      }
      if (left > 0) return
      left = Number.POSITIVE_INFINITY
      far.resetAndDestroy()
      near.destroySoon()
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  fixture.defer(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAfter: (bytes) => {
      left = bytes
    },
    leadTo: (url) => {
      port = new URL(url).port
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Everything that a body gave before it failed, and what it failed with. */
export async function readToTheEnd(response: Response): Promise<{ bytes: Buffer; error: unknown }> {
  const chunks: Uint8Array[] = []
  const reader = response.body?.getReader()
  try {
    for (;;) {
      const part = await reader?.read()
      if (!part || part.done) return { bytes: Buffer.concat(chunks), error: undefined }
      chunks.push(part.value)
    }
  } catch (error) {
    return { bytes: Buffer.concat(chunks), error }
  }
}
