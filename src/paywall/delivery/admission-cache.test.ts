import { describe, expect, it } from 'vitest'
import type { Incoming } from '../../core/http/http.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import type { Admission } from '../claim/admit.ts'
import type { RouteConfig } from '../config/config.ts'
import { createOpenWindows } from './window-cache.ts'

const hour = { kind: 'allowance', allowance: { unit: 'second', amount: 3600n } } as const
const route = (more: object = {}) => ({ bind: 'request', pricing: { per: hour }, ...more }) as unknown as RouteConfig
const asking = ({ method = 'GET', target = '/a', origin = 'http://a', header = 'tx=1; claim=c' } = {}) =>
  ({
    method,
    target,
    origin: () => origin,
    header: (name: string) => (name === 'payment-proof' ? header : undefined),
  }) as Incoming
const proof = { claim: 'c' } as Proof
const admission = {
  allowance: { unit: 'second', amount: 3600n },
  grant: undefined,
  usableUntil: 50_000,
} as unknown as Admission

function open(config = route()) {
  const time = { now: 10_000, monotonic: 0 }
  const windows = createOpenWindows({ now: () => time.now, monotonic: () => time.monotonic }, config)
  if (!windows) throw new Error('this route needs no cache')
  return { time, windows }
}

describe('an open window', () => {
  it('admits the same request again within a second', () => {
    const { windows, time } = open()
    expect(windows.find(asking())).toBeUndefined()
    windows.keep(asking(), proof, admission)
    time.monotonic = 999
    expect(windows.find(asking())).toMatchObject({ proof, admission })
    time.monotonic = 1_000
    expect(windows.find(asking())).toBeUndefined()
  })

  it.each([
    { method: 'POST' },
    { target: '/b' },
    { target: '/a?q' },
    { origin: 'http://b' },
    { header: 'tx=1; claim=d' },
  ])('does not admit another request: %j', (other) => {
    const { windows } = open()
    windows.keep(asking(), proof, admission)
    expect(windows.find(asking(other))).toBeUndefined()
  })

  it('ends when its time is over, and at once when payments were taken back', () => {
    const { windows, time } = open()
    windows.keep(asking(), proof, admission)
    time.now = 50_000
    expect(windows.find(asking())).toBeUndefined()
    time.now = 10_000
    windows.clear()
    expect(windows.find(asking())).toBeUndefined()
  })

  it.each<[string, object, object]>([
    ['signed anew each time', { sig: new Uint8Array(), claim: undefined }, {}],
    ['without a claim', { claim: undefined }, {}],
    ['with something held', {}, { grant: {} }],
    ['of requests', {}, { allowance: { unit: 'request', amount: 5n } }],
  ])('is not remembered %s', (_name, otherProof, otherAdmission) => {
    const { windows } = open()
    windows.keep(asking(), { ...proof, ...otherProof }, { ...admission, ...otherAdmission } as Admission)
    expect(windows.find(asking())).toBeUndefined()
  })

  it.each<[string, RouteConfig]>([
    ['whose payments are bound to headers', route({ bind: { headers: ['x'] } })],
    ['that sells requests', route({ pricing: { per: { ...hour, allowance: { unit: 'request', amount: 1n } } } })],
    ['with a price per request', route({ pricing: { per: { kind: 'bytes' } } })],
  ])('is never remembered at a route %s', (_name, config) => {
    expect(createOpenWindows({ now: () => 0, monotonic: () => 0 }, config)).toBeUndefined()
  })

  it('is found under a proof that opens several', () => {
    const { windows } = open(route({ bind: 'path' }))
    const targets = ['/a', '/a?1', '/a?2']
    for (const target of targets) windows.keep(asking({ target }), proof, admission)
    const receipts = targets.map((target) => windows.find(asking({ target }))?.receipts)
    expect(new Set(receipts).size).toBe(3)
    expect(windows.find(asking({ target: '/a?3' }))).toBeUndefined()
  })

  it('forgets admissions after a second', () => {
    const { windows, time } = open()
    windows.keep(asking(), proof, admission)
    const before = windows.find(asking())
    if (before) before.receipts.headers = [['a', 'b']]
    expect(windows.find(asking())?.receipts.headers).toEqual([['a', 'b']])
    time.monotonic = 1_000
    windows.keep(asking(), proof, admission)
    expect(windows.find(asking())?.receipts.headers).toBeUndefined()
  })

  it('is kept anew however often that is said', () => {
    const { windows } = open()
    windows.keep(asking({ target: '/b' }), proof, admission)
    for (let index = 0; index < 1_100; index += 1) windows.keep(asking(), proof, admission)
    expect(windows.find(asking({ target: '/b' }))).toBeDefined()
  })

  it('is one of a thousand at the most', () => {
    const { windows } = open()
    for (let index = 0; index < 1_025; index += 1) windows.keep(asking({ target: `/${index}` }), proof, admission)
    expect(windows.find(asking({ target: '/0' }))).toBeUndefined()
    expect(windows.find(asking({ target: '/1024' }))).toBeDefined()
  })
})
