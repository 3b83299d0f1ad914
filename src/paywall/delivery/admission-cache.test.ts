import { describe, expect, it } from 'vitest'
import type { Incoming } from '../../core/http/http.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import type { Admission } from '../claim/admit.ts'
import type { RouteConfig } from '../config/config.ts'
import { createRecentAdmissions } from './admission-cache.ts'

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
  isRepeatable: true,
} as unknown as Admission
const bundle = { unit: 'request', amount: 5n } as const

const selling = (allowance: object) =>
  ({ pricing: { per: { kind: 'allowance', allowance } } }) as unknown as Pick<RouteConfig, 'pricing'>

function open() {
  const time = { now: 10_000, monotonic: 0 }
  const windows = createRecentAdmissions({ now: () => time.now, monotonic: () => time.monotonic }, selling(bundle))
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
    ['signed: nothing would check the age of the signature', { sig: new Uint8Array() }, {}],
    ['with a grant: it has just begun', {}, { grant: {} }],
    ['bound to more than its address', {}, { isRepeatable: false }],
  ])('is not remembered %s', (_name, otherProof, otherAdmission) => {
    const { windows } = open()
    windows.keep(asking(), { ...proof, ...otherProof }, { ...admission, ...otherAdmission } as Admission)
    expect(windows.find(asking())).toBeUndefined()
  })

  it('is found under a proof that opens several', () => {
    const { windows } = open()
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
    if (before) before.receipts.amount = '0.1'
    expect(windows.find(asking())?.receipts.amount).toBe('0.1')
    time.monotonic = 1_000
    windows.keep(asking(), proof, admission)
    expect(windows.find(asking())?.receipts.amount).toBeUndefined()
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

describe('an admission for requests', () => {
  it.each<[string, object, object, boolean]>([
    ['a bundle', {}, { allowance: bundle }, true],
    ['a signed bundle', { sig: new Uint8Array(), claim: undefined }, { allowance: bundle }, true],
    ['a bundle bound to more than its address', {}, { allowance: bundle, isRepeatable: false }, false],
    ['one request', {}, { allowance: { unit: 'request', amount: 1n } }, false],
    ['bytes', {}, { allowance: { unit: 'byte', amount: 5n } }, false],
    ['a file', {}, { allowance: { unit: 'file', amount: 5n } }, false],
  ])('of %s', (_name, otherProof, otherAdmission, isKept) => {
    const { windows } = open()
    windows.keep(asking(), { ...proof, ...otherProof }, { ...admission, grant: {}, ...otherAdmission } as Admission)
    expect(windows.find(asking()) !== undefined).toBe(isKept)
  })

  it.each([
    [{ unit: 'second', amount: 1n }, true],
    [{ unit: 'request', amount: 2n }, true],
    [{ unit: 'request', amount: 1n }, false],
    [{ unit: 'byte', amount: 5n }, false],
  ])('is remembered at a route that sells %o: %j', (allowance, isKept) => {
    const clock = { now: () => 0, monotonic: () => 0 }
    expect(createRecentAdmissions(clock, selling(allowance)) !== undefined).toBe(isKept)
  })
})
