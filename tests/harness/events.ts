/** The port of notices in memory, with the clock in the test's hand, and a receiver of webhooks that behaves as told. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LedgerEvent, LedgerEventKind, LedgerEvents } from '../../src/core/ports/outbox.ts'
import type { Clock } from '../../src/core/runtime.ts'

export interface FakeEvents extends LedgerEvents {
  readonly rows: Map<string, LedgerEvent & { due: number }>
  write(kind: LedgerEventKind, tx?: Uint8Array): string
}

export function createFakeEvents(clock: Clock): FakeEvents {
  const rows: FakeEvents['rows'] = new Map()
  let written = 0
  const change = (id: string, changes: Partial<LedgerEvent & { due: number }>) => {
    const row = rows.get(id)
    if (row) rows.set(id, { ...row, ...changes })
    return row !== undefined
  }
  const write: FakeEvents['write'] = (kind, tx = new Uint8Array(64).fill(7)) => {
    written += 1
    const id = `n${written}`
    const state = 'waiting' as const
    rows.set(id, { id, kind, target: '', tx, at: clock.now(), attempts: 0, state, why: '', due: clock.now() })
    return id
  }
  return {
    rows,
    write,
    notify: async (kind, about) => void write(kind, about),
    start: async () => {},
    sweep: async () => 0,
    spread: async (listeners, most) => {
      const fresh = [...rows.values()].filter(({ target }) => target === '').slice(0, most)
      for (const row of fresh) {
        rows.delete(row.id)
        for (const { name, events } of listeners) {
          const id = `${row.id}_${name}`
          if (events.includes(row.kind)) rows.set(id, { ...row, id, target: name })
        }
      }
      return fresh.length
    },
    take: async (target, most, leaseMs) => {
      const due = [...rows.values()]
        .filter((row) => row.target === target && row.state === 'waiting' && row.due <= clock.now())
        .slice(0, most)
      for (const { id } of due) change(id, { due: clock.now() + leaseMs })
      return due
    },
    told: async (id) => void change(id, { state: 'told', why: '' }),
    failed: async (id, why, again) => {
      const attempts = (rows.get(id)?.attempts ?? 0) + 1
      change(id, again === undefined ? { state: 'failed', why, attempts } : { due: again, why, attempts })
    },
    list: async ({ state, most }) =>
      [...rows.values()].filter((row) => state === undefined || row.state === state).slice(0, most),
    resend: async (id) => change(id, { state: 'waiting', due: clock.now() }),
  }
}

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** `silence` takes the request and never answers; `drip` answers with a body that never ends. */
export type Manner = { readonly status: number; readonly headers?: Record<string, string> } | 'silence' | 'drip'

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  behave(manner: Manner): void
  close(): Promise<void>
}

export async function createReceiver(): Promise<Receiver> {
  const received: Received[] = []
  let manner: Manner = { status: 204 }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() })
    if (manner === 'silence') return
    if (manner === 'drip') {
      response.writeHead(200)
      const timer = setInterval(() => response.write('x'.repeat(10_000)), 1)
      response.on('close', () => clearInterval(timer))
      return
    }
    response.writeHead(manner.status, manner.headers).end('noted')
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    behave: (next) => {
      manner = next
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
