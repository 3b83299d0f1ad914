/** Small stand-ins of the ledger's ports, for what only reads captures and keeps things on the shelf. */
import type { PaymentListItem } from '../../src/core/payment/history.ts'
import type { KeyValueStore } from '../../src/core/ports/kv.ts'
import type { Books } from '../../src/core/ports/reports.ts'
import type { Clock } from '../../src/core/runtime.ts'

export interface HandClock extends Clock {
  pass(ms: number): void
}

export function createHandClock(start = Date.UTC(2026, 0, 31, 12)): HandClock {
  let now = start
  return {
    now: () => now,
    monotonic: () => now - start,
    pass: (ms) => {
      now += ms
    },
  }
}

export interface OpenShelf extends KeyValueStore {
  readonly kept: Map<string, { readonly value: string; readonly until: number }>
  /** How often it was asked for anything. */
  readonly calls: () => number
}

export function createShelf(clock: Clock): OpenShelf {
  const kept = new Map<string, { readonly value: string; readonly until: number }>()
  let calls = 0
  const live = (name: string) => {
    calls += 1
    const entry = kept.get(name)
    return entry && entry.until > clock.now() ? entry : undefined
  }
  return {
    kept,
    calls: () => calls,
    put: async (name, value, until) => {
      if (live(name)) return false
      kept.set(name, { value, until })
      return true
    },
    get: async (name) => live(name)?.value,
    remove: async (name) => live(name) !== undefined && kept.delete(name),
    list: async (prefix) => {
      calls += 1
      return [...kept]
        .filter(([name, { until }]) => name.startsWith(prefix) && until > clock.now())
        .map(([name, entry]) => ({ name, ...entry }))
    },
  }
}

export function captureAt(index: number, more: Partial<PaymentListItem> = {}): PaymentListItem {
  const tx = new Uint8Array(64)
  new DataView(tx.buffer).setUint32(0, index + 1)
  tx[63] = 7
  return {
    tx,
    at: Date.UTC(2026, 0, 1) + index * 1000,
    request: `request-${index}`,
    payer: `payer-${index % 7}`,
    recipient: 'recipient',
    endpoint: '/api/weather',
    token: 'USDC',
    units: BigInt(index + 1) * 1_000n,
    worth: BigInt(index + 1) * 1_000_000_000n,
    status: 'confirmed',
    state: 'finalized',
    delivery: 'all',
    ...more,
  }
}

export interface OpenBooks {
  readonly books: Books
  /** Pages that were read. */
  readonly reads: () => number
}

/** Captures by index, `count` of them, made when they are read. */
export function createBooks(count: number, make: (index: number) => PaymentListItem = captureAt): OpenBooks {
  let reads = 0
  const captures: Books['listPayments'] = async ({ most, after, token, from, to, endpoint }) => {
    reads += 1
    const page: PaymentListItem[] = []
    const first = after ? new DataView(after.tx.buffer, after.tx.byteOffset).getUint32(0) : 0
    for (let index = first; index < count && page.length < most; index += 1) {
      const one = make(index)
      if (token !== undefined && one.token !== token) continue
      if (endpoint !== undefined && one.endpoint !== endpoint) continue
      if (one.at < (from ?? 0) || one.at >= (to ?? Number.POSITIVE_INFINITY)) continue
      page.push(one)
    }
    return page
  }
  return {
    books: { listPayments: captures, reportToken: async () => 'USDC' } as Partial<Books> as Books,
    reads: () => reads,
  }
}
