import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createInFlight } from '../../core/collections/in-flight.ts'
import { nativeOnly } from '../../dialects/join.ts'
import type { Claim } from '../claim/verify-on-chain.ts'
import type { PaywallEvent } from '../config/events.ts'
import { createResourceTypes } from '../quote/resource-types.ts'
import { createDeadlines } from '../runtime/deadlines.ts'
import { openDelivery } from './delivery.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000 }))
afterEach(() => void vi.useRealTimers())

const head = { status: 200, length: undefined, contentRange: undefined, type: undefined }

/** A response in a window that ends at 10,000, with a lease of a second. */
function open() {
  const clock = { now: () => Date.now(), monotonic: () => Date.now() }
  const events: PaywallEvent[] = []
  const used: string[] = []
  const running = createInFlight()
  const deadlines = createDeadlines(clock)
  const watched = new Set<() => void>()
  const peek = vi.fn(async (): Promise<{ state: string } | undefined> => ({ state: 'open' }))
  const runtime = {
    clock,
    ledger: { peek },
    deadlines: {
      watch: (end: number, call: () => void) => {
        const callOff = deadlines.watch(end, call)
        watched.add(call)
        return () => void (watched.delete(call) && callOff())
      },
    },
    identity: { sign: () => new Uint8Array(64) },
    usage: { count: (endpoint: string, event: string) => used.push(`${endpoint} ${event}`) },
    countAdmitted: () => {},
    tokens: { complete: () => ({}) },
    changes: { note: () => {} },
    log: { error: () => {} },
  }
  const claim = {
    routeRuntime: {
      runtime,
      route: { config: { leaseMs: 1_000, envelope: 'none', mints: {}, cors: false } },
      running,
      dialects: nativeOnly,
      types: createResourceTypes(),
      listener: (event: PaywallEvent) => events.push(event),
    },
    incoming: { request: {}, method: 'GET', target: '/a?b', header: () => undefined, origin: () => 'http://a' },
    proof: { tx: 'tx', requestId: 'id' },
  }
  const admission = {
    kind: 'admitted',
    grant: undefined,
    takenAt: 0,
    allowance: { unit: 'second', amount: 9n },
    remaining: 9n,
    usableUntil: 10_000,
    token: 'USDC',
    received: 1n,
    passedOn: 0n,
    payer: 'p',
    first: false,
    request: 'r',
    isRepeatable: true,
  } as const
  const pass = openDelivery(claim as unknown as Claim, admission)
  const lost = vi.fn()
  pass.onLost(lost)
  const endings = () => events.flatMap((event) => (event.kind === 'ended' ? [event.outcome] : []))
  return { pass, lost, running, used, endings, watched, peek }
}

describe('a delivery within a window', () => {
  it('ends a lease after its window, also where nothing is written', () => {
    const { pass, lost, running, used, endings } = open()
    pass.begin(head)
    vi.advanceTimersByTime(9_999)
    expect([pass.isAlive(), lost.mock.calls.length]).toEqual([true, 0])
    vi.advanceTimersByTime(1)
    expect([pass.isAlive(), lost.mock.calls.length]).toEqual([false, 1])
    // What we break off does not count against the payer.
    pass.end('aborted', 5)
    expect([endings(), used, running.count()]).toEqual([['not_started'], ['/a undelivered'], 0])
  })

  it.each([
    ['was refunded', { state: 'spent' }],
    ['was reverted', { state: 'reverted' }],
    ['is no longer known', undefined],
  ])('T208: is broken off within two lease periods after its payment %s', async (_name, status) => {
    const { pass, lost, peek } = open()
    pass.begin(head)
    await vi.advanceTimersByTimeAsync(3_500)
    expect(pass.isAlive()).toBe(true)
    peek.mockResolvedValue(status)
    await vi.advanceTimersByTimeAsync(2_000)
    expect([pass.isAlive(), lost.mock.calls.length]).toEqual([false, 1])
    pass.end('aborted', 5)
  })

  it('goes on during an outage of the ledger, and after the ledger counts its window as over', async () => {
    const { pass, lost, peek } = open()
    pass.begin(head)
    peek.mockRejectedValue(new Error('down'))
    await vi.advanceTimersByTimeAsync(8_000)
    peek.mockResolvedValue({ state: 'spent' })
    await vi.advanceTimersByTimeAsync(1_999)
    expect([pass.isAlive(), lost.mock.calls.length]).toEqual([true, 0])
    pass.end('finished', 5)
  })

  it('asks the ledger nothing if it is shorter than a lease period', async () => {
    const { pass, peek } = open()
    await vi.advanceTimersByTimeAsync(999)
    pass.end('finished', 5)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(peek).not.toHaveBeenCalled()
  })

  it('is no longer alive when its time is over, whether or not the timer has said so', () => {
    const { pass } = open()
    vi.setSystemTime(11_000)
    expect(pass.isAlive()).toBe(false)
  })

  it('is broken off when the service stops', () => {
    const { pass, lost, running } = open()
    running.breakOff()
    expect([pass.isAlive(), lost.mock.calls.length, running.count()]).toEqual([false, 1, 1])
    pass.end('aborted', 0)
    expect(running.count()).toBe(0)
  })

  it('ends once, and nothing happens to it afterwards', () => {
    const { pass, lost, running, used, endings } = open()
    pass.begin(head)
    pass.end('finished', 10)
    pass.end('aborted', 10)
    running.breakOff()
    pass.lose('late')
    vi.advanceTimersByTime(100_000)
    expect([endings(), lost.mock.calls.length, pass.isAlive()]).toEqual([['delivered'], 0, false])
    expect(used).toEqual(['/a delivered', '/a reused'])
    expect(running.count()).toBe(0)
  })

  it('leaves nothing behind that waits for the end of its window', () => {
    const { pass, watched } = open()
    expect(watched.size).toBe(1)
    pass.end('finished', 0)
    expect(watched.size).toBe(0)
  })

  it.each([
    ['finished', 404, 10, 'partial'],
    ['finished', 502, 10, 'not_started'],
    ['aborted', 200, 10, 'partial'],
    ['aborted', 200, 0, 'no_body'],
    ['failed', 200, 0, 'not_started'],
  ] as const)('that %s with %d after %d bytes comes to %s', (ending, status, bytes, outcome) => {
    const { pass, endings } = open()
    pass.begin({ ...head, status })
    pass.end(ending, bytes)
    expect(endings()).toEqual([outcome])
  })

  it('says the same of every good answer, and of a bad one that it is to be tried again', () => {
    const { pass } = open()
    const good = pass.begin(head)
    expect(good.headers.map(([name]) => name)).toEqual([
      'Cache-Control',
      'Vary',
      'Payment-Receipt',
      'Payment-Allowance',
    ])
    expect(pass.begin({ ...head, status: 206 }).headers).toBe(good.headers)
    expect(pass.begin({ ...head, status: 502 }).headers).toEqual([
      ['Payment-Status', 'retry'],
      ['Cache-Control', 'no-store'],
    ])
    expect(pass.begin(head).headers).toBe(good.headers)
  })
})
