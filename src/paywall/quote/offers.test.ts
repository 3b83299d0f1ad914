import { describe, expect, it } from 'vitest'
import type { Subject } from '../../core/protocol/request-id.ts'
import type { PreparedChallenge } from '../../dialects/join.ts'
import { createSealer, type SealedChallenge } from './offers.ts'

/** An offer whose ids are its name and the number of the call. Its headers name their parts. */
function createOffer(name: string) {
  const sealed: Subject[] = []
  const seal = (subject: Subject) => {
    sealed.push(subject)
    return `${name}${sealed.length}`
  }
  const writeForeign: PreparedChallenge['writeForeign'] = ({ requestId, resource, expiresAt, proof }) => ({
    byProtocol: [],
    all: [],
    lines: `${requestId} ${resource} ${expiresAt} ${proof}`,
  })
  return { sealed, seal, writeForeign }
}

const binding = Uint8Array.of(1)
const subject = { issuedAt: 100, proof: 'bare', bindingTag: binding, claimTag: undefined } as const

const parts = { resource: '"/a"', expiresAt: 'soon' }

type Sealer = ReturnType<typeof createSealer>
type TestOffer = ReturnType<typeof createOffer>

function askChallenges(sealer: Sealer, offer: TestOffer, times: number, more = {}, of = parts): SealedChallenge[] {
  return Array.from({ length: times }, () => sealer(offer, { ...subject, ...more }, of))
}

/** Seals so many ids, and returns them. */
function ask(sealer: Sealer, offer: TestOffer, times: number, more = {}): string[] {
  return askChallenges(sealer, offer, times, more).map(({ requestId }) => requestId)
}

describe('requestIds sealed ahead', () => {
  it('are given out once each', () => {
    const offer = createOffer('a')
    const ids = ask(createSealer(), offer, 1_000)
    expect(new Set(ids).size).toBe(1_000)
  })

  it('are none while a binding is rare, then as many as were requested, and at most 64', () => {
    const offer = createOffer('a')
    const sealer = createSealer()
    const counts = [7, 1, 7, 1, 1_000].map((times) => {
      ask(sealer, offer, times)
      return offer.sealed.length
    })
    expect(counts.slice(0, 4)).toEqual([7, 15, 15, 31])
    expect(counts[4]).toBeLessThanOrEqual(1_016 + 64)
    expect(counts[4]).toBeGreaterThanOrEqual(1_016)
  })

  it.each<[string, object]>([
    ['the next second', { issuedAt: 101 }],
    ['an earlier second', { issuedAt: 99 }],
    ['another kind of proof', { proof: 'sig' }],
    ['another binding', { bindingTag: Uint8Array.of(1) }],
  ])('are not used for %s', (_, more) => {
    const offer = createOffer('a')
    const sealer = createSealer()
    ask(sealer, offer, 8)
    const before = offer.sealed.length
    ask(sealer, offer, 1, more)
    expect(offer.sealed.slice(before)).toEqual([{ ...subject, ...more }])
  })

  it('are none for claims: each client gets an id with its own', () => {
    const offer = createOffer('a')
    const sealer = createSealer()
    const claims = Array.from({ length: 20 }, (_, index) => ({ proof: 'claim', claimTag: Uint8Array.of(index) }))
    const ids = claims.flatMap((claim) => ask(sealer, offer, 1, claim))
    expect(ids).toEqual(claims.map((_, index) => `a${index + 1}`))
    expect(offer.sealed.map(({ claimTag }) => claimTag)).toEqual(claims.map(({ claimTag }) => claimTag))
  })

  it('are not used for another offer, and are dropped with it', () => {
    const [old, young] = [createOffer('old'), createOffer('young')]
    const sealer = createSealer()
    ask(sealer, old, 8)
    expect(ask(sealer, young, 8).every((id) => id.startsWith('young'))).toBe(true)
    const before = old.sealed.length
    ask(sealer, old, 1)
    expect(old.sealed).toHaveLength(before + 1)
  })

  it('have the headers of other protocols with them, and a single one has none', () => {
    const offer = createOffer('a')
    const sealer = createSealer()
    expect(askChallenges(sealer, offer, 8).map(({ foreign }) => foreign)).toEqual(Array(8).fill(undefined))
    for (const { requestId, foreign } of askChallenges(sealer, offer, 7))
      expect(foreign?.lines).toBe(`${requestId} "/a" soon bare`)
  })

  it('have no headers of another address with the same binding', () => {
    const offer = createOffer('a')
    const sealer = createSealer()
    ask(sealer, offer, 8)
    const [other] = askChallenges(sealer, offer, 1, {}, { ...parts, resource: '"/b"' })
    expect(other).toEqual({ requestId: 'a14' })
  })

  it('wait for 16 bindings at most', () => {
    const offer = createOffer('a')
    const sealer = createSealer()
    ask(sealer, offer, 8)
    for (let index = 0; index < 16; index += 1) ask(sealer, offer, 1, { bindingTag: Uint8Array.of(index) })
    const before = offer.sealed.length
    ask(sealer, offer, 1)
    expect(offer.sealed).toHaveLength(before + 1)
  })
})
