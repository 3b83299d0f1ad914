/** Whatever a server does that is honest about its ETags and dates, nothing is put together that does not belong together. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { formatHeaders, isResumable, isWhole, judge, nothing, type Part, type PartHead } from './download-range.ts'

const headOf = (status: number, headers: Readonly<Record<string, string>> = {}): PartHead => ({
  status,
  header: (name) => headers[name],
})

/** A representation: its ETag, or the date of its last change, says which bytes it has. */
interface Version {
  readonly etag?: string
  readonly changed?: string
  readonly text: string
}
const versions: readonly Version[] = [
  { etag: '"a"', text: 'aaaaaaaaaa' },
  { etag: '"b"', text: 'bbbbbbbbbb' },
  { etag: '"c"', text: 'ccc' },
  { etag: '"empty"', text: '' },
  { etag: 'W/"d"', text: 'dddddddddd' },
  { etag: 'W/"d"', text: 'DDDDDDDDDD' },
  { text: 'eeeeeeeeee' },
  { etag: 'W/"f"', changed: 'Tue, 10 Nov 2026 08:00:00 GMT', text: 'ffffffffff' },
  { changed: 'Wed, 11 Nov 2026 08:00:00 GMT', text: 'gggggggggg' },
  // Changed within the same second, of which nobody can tell the one from the other.
  { changed: 'Thu, 12 Nov 2026 08:00:00 GMT', text: 'hhhhhhhhhh' },
  { changed: 'Thu, 12 Nov 2026 08:00:00 GMT', text: 'iiiiiiiiii' },
]

/** What a server does with one request. */
const turn = fc.record({
  version: fc.constantFrom(...versions),
  /** How it takes `Range`: as asked, as if there were none, or in a way of its own. */
  manner: fc.constantFrom('honours', 'ignores', 'shifts', 'shortens', 'refuses', 'fails'),
  /** Where the connection breaks, counted from the body's beginning. */
  breaksAt: fc.option(fc.nat(12), { nil: undefined }),
  saysEtag: fc.boolean(),
  saysSize: fc.boolean(),
})
type Turn = typeof turn extends fc.Arbitrary<infer One> ? One : never

interface Answer {
  readonly head: PartHead
  readonly body: string
}

function serve({ version, manner, saysEtag, saysSize }: Turn, asked: Readonly<Record<string, string>>): Answer {
  const { etag, changed, text } = version
  const isCurrent = [etag, changed].includes(asked['If-Range'])
  const from = Number(/^bytes=(\d+)-$/.exec(asked['Range'] ?? '')?.[1] ?? 0)
  const isTold = saysEtag || asked['Range'] === undefined
  const date = 'Thu, 12 Nov 2026 08:00:59 GMT'
  const names = { ...(etag !== undefined && { etag }), ...(changed !== undefined && { 'last-modified': changed }) }
  const own = isTold ? { ...names, date } : { date }
  if (manner === 'fails') return { head: headOf(500), body: 'sorry' }
  if (asked['Range'] === undefined || manner === 'ignores' || (!isCurrent && manner !== 'shifts'))
    return { head: headOf(200, { ...own, ...(saysSize && { 'content-length': `${text.length}` }) }), body: text }
  if (manner === 'refuses' || from >= text.length)
    return { head: headOf(416, { ...own, 'content-range': `bytes */${text.length}` }), body: '' }
  const first = manner === 'shifts' ? Math.max(1, from - 1) : from
  const body = text.slice(first, manner === 'shortens' ? first + 1 : undefined)
  const size = saysSize ? text.length : '*'
  const range = `bytes ${first}-${first + body.length - 1}/${size}`
  return { head: headOf(206, { ...own, 'content-range': range }), body }
}

/** A download as `download.ts` does it, on text instead of a file. Resolves with the text once it is whole. */
function download(turns: readonly Turn[]): { text: string; last: Version } | undefined {
  let part: Part = nothing
  let text = ''
  let mayAskForRest = true
  for (const one of turns) {
    const asked = mayAskForRest ? formatHeaders(part) : {}
    const { head, body } = serve(one, asked)
    const step = judge(part, head, 'Range' in asked)
    mayAskForRest = step.kind !== 'again'
    if (step.kind === 'again' || step.kind === 'answer') continue
    if (step.kind === 'whole') return { text, last: one.version }
    if (step.kind === 'restart') {
      text = ''
      part = { bytes: 0, validator: step.validator, size: step.size }
    } else part = { ...part, size: step.size }
    const isBroken = one.breaksAt !== undefined && one.breaksAt < body.length
    text += isBroken ? body.slice(0, one.breaksAt) : body
    part = { ...part, bytes: text.length }
    if (isWhole(part) || (!isBroken && part.size === undefined && head.status !== 206))
      return { text, last: one.version }
  }
  return undefined
}

describe('a download', () => {
  it('that is whole is one representation, from its first byte to its last', () => {
    let [whole, joined] = [0, 0]
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 12 }), (turns) => {
        const result = download(turns)
        if (!result) return
        whole += 1
        if (turns.length > 1) joined += 1
        expect(versions.map(({ text }) => text)).toContain(result.text)
      }),
      { numRuns: size(2_500, 5_000) },
    )
    expect([whole > 1_000, joined > 500]).toEqual([true, true])
  })

  it('is whole after as many honest answers as it has breaks', () => {
    const [version = { text: '' }] = versions
    const honest = { version, manner: 'honours', saysEtag: true, saysSize: true } as const
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 5 }), (breaks) => {
        const turns = [...breaks.map((breaksAt) => ({ ...honest, breaksAt })), { ...honest, breaksAt: undefined }]
        expect(download(turns)?.text).toBe(version.text)
      }),
    )
  })
})

describe('an answer', () => {
  const part: Part = { bytes: 4, validator: '"a"', size: 10 }
  const rest = { 'content-range': 'bytes 4-9/10' }
  it.each<[string, PartHead, ReturnType<typeof judge>]>([
    ['with the rest', headOf(206, { ...rest, etag: '"a"' }), { kind: 'append', size: 10 }],
    ['with the rest of nobody knows what', headOf(206, rest), { kind: 'again' }],
    ['with the rest of another ETag', headOf(206, { ...rest, etag: '"b"' }), { kind: 'again' }],
    ['with the rest of a weak ETag', headOf(206, { ...rest, etag: 'W/"a"' }), { kind: 'again' }],
    ['with the rest of another size', headOf(206, { 'content-range': 'bytes 4-8/9', etag: '"a"' }), { kind: 'again' }],
    ['with a part that overlaps', headOf(206, { 'content-range': 'bytes 3-9/10', etag: '"a"' }), { kind: 'again' }],
    ['with a part that leaves a gap', headOf(206, { 'content-range': 'bytes 5-9/10', etag: '"a"' }), { kind: 'again' }],
    ['with several parts', headOf(206, { 'content-type': 'multipart/byteranges' }), { kind: 'again' }],
    [
      'with the whole, cut',
      headOf(206, { 'content-range': 'bytes 0-3/10', etag: '"b"' }),
      { kind: 'restart', validator: '"b"', size: 10 },
    ],
    [
      'with the whole',
      headOf(200, { 'content-length': '12', etag: '"b"' }),
      { kind: 'restart', validator: '"b"', size: 12 },
    ],
    [
      'with the whole, encoded',
      headOf(200, { 'content-length': '12', etag: '"b"', 'content-encoding': 'gzip' }),
      { kind: 'restart', validator: undefined, size: undefined },
    ],
    ['that there is no more', headOf(416, { 'content-range': 'bytes */4', etag: '"a"' }), { kind: 'whole' }],
    ['that there is no more of anything', headOf(416, { 'content-range': 'bytes */4' }), { kind: 'again' }],
    ['that there is less', headOf(416, { 'content-range': 'bytes */3', etag: '"a"' }), { kind: 'again' }],
    ['that says nothing', headOf(416), { kind: 'again' }],
    ['of another kind', headOf(404), { kind: 'answer' }],
  ])('%s', (_name, head, step) => expect(judge(part, head, true)).toEqual(step))

  it('with a part that was not requested is the resource only if it begins with the first byte', () => {
    expect(judge(part, headOf(206, rest), false)).toEqual({ kind: 'answer' })
    expect(judge(part, headOf(416, { 'content-range': 'bytes */4' }), false)).toEqual({ kind: 'answer' })
  })
})

it('is asked for from where the part ends, and only with a validator that vouches for it', () => {
  const part: Part = { bytes: 4, validator: '"a"', size: 10 }
  expect(formatHeaders(part)).toEqual({ Range: 'bytes=4-', 'If-Range': '"a"' })
  for (const other of [nothing, { ...part, validator: undefined }, { ...part, bytes: 10 }, { ...part, bytes: 0 }])
    expect([isResumable(other), formatHeaders(other)]).toEqual([false, {}])
})

describe('a date instead of an ETag', () => {
  const changed = 'Sun, 15 Nov 2026 10:00:00 GMT'
  const head = (date: string, more: Readonly<Record<string, string>> = {}) =>
    headOf(200, { 'last-modified': changed, date, 'content-length': '10', ...more })
  const validatorFrom = (one: PartHead) => {
    const step = judge(nothing, one, false)
    return step.kind === 'restart' ? step.validator : undefined
  }

  it.each([
    ['Sun, 15 Nov 2026 10:01:00 GMT', {}, changed],
    ['Sun, 15 Nov 2026 10:01:00 GMT', { etag: 'W/"weak"' }, changed],
    ['Sun, 15 Nov 2026 10:01:00 GMT', { etag: '"strong"' }, '"strong"'],
    ['Sun, 15 Nov 2026 10:00:59 GMT', {}, undefined],
    ['', {}, undefined],
    ['Sun, 15 Nov 2026 10:01:00 GMT', { 'last-modified': 'yesterday' }, undefined],
  ])('counts when it is long past: %s %j', (date, more, validator) => {
    expect(validatorFrom(head(date, more))).toBe(validator)
  })

  it('asks for the rest, and takes it only from the same', () => {
    const part: Part = { bytes: 4, validator: changed, size: 10 }
    expect(formatHeaders(part)).toEqual({ Range: 'bytes=4-', 'If-Range': changed })
    const rest = { 'content-range': 'bytes 4-9/10', date: 'Sun, 15 Nov 2026 10:05:00 GMT' }
    expect(judge(part, headOf(206, { ...rest, 'last-modified': changed }), true)).toEqual({ kind: 'append', size: 10 })
    const other = 'Sun, 15 Nov 2026 09:00:00 GMT'
    expect(judge(part, headOf(206, { ...rest, 'last-modified': other }), true)).toEqual({ kind: 'again' })
    expect(judge(part, headOf(206, rest), true)).toEqual({ kind: 'again' })
  })
})
