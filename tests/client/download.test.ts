/** Downloads of what is paid for: whatever breaks, the next call goes on, and no byte is paid for twice that need not be. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { DownloadOptions, Progress } from '../../src/client/download/download.ts'
import { DownloadError, downloadWith402, fetchWith402 } from '../../src/client/index.ts'
import { openFileJournal } from '../../src/client/journal/file.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { processName } from '../../src/host/alive.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import type { Shop } from '../harness/shop.ts'
import { type ClientFixture, challengeFor, createClientFixture, expectError, hasProof } from './client-fixture.ts'
import { answer, createVolume, type Line, noise, openLine, readToTheEnd, serveVolume, type Volume } from './library.ts'

const megabyte = 1_000_000
let fixture: ClientFixture
let count = 0
/** Where this test's file goes, and its journal. */
let path: string
let journalPath: string

beforeAll(async () => {
  fixture = await createClientFixture()
})
beforeEach(async () => {
  await fixture.received()
  count += 1
  const directory = join(fixture.directory, `downloads-${count}`)
  mkdirSync(directory)
  path = join(directory, 'file')
  journalPath = join(fixture.directory, `journal-${count}.sqlite`)
})
afterAll(() => fixture.close())

interface Stock {
  readonly volume: Volume
  readonly shop: Shop
  readonly line: Line
  readonly url: string
}

type StockOptions = Pick<ProviderOptions, 'per' | 'size' | 'ledger' | 'secret'>

/** A megabyte costs as much as a request elsewhere. */
async function stock(volume: Volume, options: StockOptions = {}): Promise<Stock> {
  const shop = await fixture.open(
    { waitSeconds: 5, per: 'megabyte', price: 0.01, scope: `stock-${count}`, ...options } as ProviderOptions,
    serveVolume(volume),
  )
  const line = await openLine(fixture, shop.url)
  return { volume, shop, line, url: `${line.url}/file` }
}
/** One whole representation is sold. */
const whole = (volume: Volume, options: StockOptions = {}) =>
  stock(volume, { size: () => volume.bytes.length, ...options })
/** Another journal object on the same file is as near as one gets to another process in here. */
const options = (more: Partial<DownloadOptions> = {}): DownloadOptions => ({
  ...fixture.options({ journal: openFileJournal(journalPath) }),
  ...more,
})
const download = (url: string, more: Partial<DownloadOptions & RequestInit> = {}) =>
  downloadWith402(url, path, options(more))
const isHere = ({ bytes }: Volume) => readFileSync(path).equals(bytes)
const filesHere = () => readdirSync(join(path, '..')).sort()
const note = () => JSON.parse(readFileSync(`${path}.part.json`, 'utf8')) as Record<string, unknown>

/** An attempt that breaks after about this many bytes, once it is paid for. Tells how many were kept in all. */
async function breakOff({ line, url, volume }: Stock, bytes: number, isPaid = true): Promise<number> {
  volume.stallAt = bytes + 100_000
  const cut = () => line.cutAfter(bytes)
  const onEvent: DownloadOptions['onEvent'] = ({ kind }) => {
    if (kind === 'confirmed' || kind === 'resumed') cut()
  }
  if (!isPaid) cut()
  await expect(download(url, { onEvent })).rejects.toThrow('terminated')
  volume.stallAt = undefined
  expect(existsSync(path)).toBe(false)
  return statSync(`${path}.part`).size
}

describe('a file with a connection that breaks half-way', () => {
  it('is gone on with, is whole to the byte, and was paid for once', async () => {
    const library = await whole(createVolume(megabyte))
    const kept = await breakOff(library, 400_000)
    expect(note()).toEqual({ url: library.url, validator: '"first"', size: megabyte })
    expect(statSync(`${path}.part.json`).mode & 0o077).toBe(0)
    const progress: Progress[] = []
    const saved = await download(library.url, { onProgress: (one) => progress.push(one) })
    expect(saved).toMatchObject({ kind: 'saved', path, bytes: megabyte })
    expect([isHere(library.volume), await fixture.received(), filesHere()]).toEqual([true, 1, ['file']])
    expect(library.volume.asked).toEqual([
      { range: undefined, ifRange: undefined },
      { range: `bytes=${kept}-`, ifRange: '"first"' },
    ])
    expect(progress[0]?.bytes).toBeGreaterThan(kept)
    expect(progress.at(-1)).toEqual({ bytes: megabyte, size: megabyte })
    // It is done: who wants it again buys it again.
    await download(library.url)
    expect(await fixture.received()).toBe(1)
  })

  it('as Express sends it, with a weak ETag and a date, is gone on with by the date', async () => {
    const lastModified = 'Tue, 10 Nov 2026 08:00:00 GMT'
    const library = await whole(createVolume(megabyte, { etag: 'W/"first"', lastModified }))
    const kept = await breakOff(library, 400_000)
    await download(library.url)
    expect([isHere(library.volume), await fixture.received()]).toEqual([true, 1])
    expect(library.volume.asked.at(-1)).toEqual({ range: `bytes=${kept}-`, ifRange: lastModified })
  })

  it('breaks again and again, and is whole in the end', async () => {
    const library = await whole(createVolume(megabyte))
    await breakOff(library, 400_000)
    await breakOff(library, 400_000)
    await download(library.url)
    expect([isHere(library.volume), await fixture.received()]).toEqual([true, 1])
  })

  it.each([
    ['of the same length', megabyte],
    ['that is shorter', 300_000],
  ])('has become another %s: it begins anew, on the same payment', async (_name, size) => {
    const library = await whole(createVolume(megabyte))
    await breakOff(library, 400_000)
    library.volume.bytes = Buffer.from(noise(size, 2))
    library.volume.etag = '"second"'
    await download(library.url)
    expect([isHere(library.volume), await fixture.received()]).toEqual([true, 1])
  })

  it.each([
    ['whose server knows no Range', { hasRanges: false }],
    ['without an ETag', { etag: undefined }],
    ['with an ETag that promises little', { etag: 'W/"first"' }],
  ])('%s begins anew, on the same payment', async (_name, more) => {
    const library = await whole(createVolume(megabyte, more))
    await breakOff(library, 400_000)
    await download(library.url)
    expect([isHere(library.volume), await fixture.received(), filesHere()]).toEqual([true, 1, ['file']])
  })

  it('and with a server that is replaced by one with the same ledger', async () => {
    const own = { ledger: join(fixture.directory, `ledger-${count}.sqlite`), secret: `1:${'k'.repeat(40)}` }
    const library = await whole(createVolume(megabyte), own)
    await breakOff(library, 400_000)
    await library.shop.close()
    const again = await whole(library.volume, own)
    library.line.leadTo(again.shop.url)
    await download(library.url)
    expect([isHere(library.volume), await fixture.received()]).toEqual([true, 1])
  })
})

describe('bytes ahead', () => {
  const prepayBytes = megabyte

  it.each([
    ['known', false],
    ['not known', true],
  ])(
    'that end before the file, with a length that is %s: the part is kept, and the next call buys more',
    async (_name, isChunked) => {
      const library = await stock(createVolume(2.5 * megabyte, { isChunked }))
      const error = await expectError(
        download(library.url, { prepayBytes }),
        'allowance_exhausted',
        /call again, or set buyMore/,
      )
      expect(error.facts).toMatchObject({ offset: megabyte, ...(!isChunked && { size: 2.5 * megabyte }) })
      expect([statSync(`${path}.part`).size, await fixture.received()]).toEqual([megabyte, 1])
      await expectError(download(library.url, { prepayBytes }), 'allowance_exhausted')
      await download(library.url, { prepayBytes })
      expect([isHere(library.volume), await fixture.received()]).toEqual([true, 2])
    },
  )

  it.each([
    ['known', false],
    ['not known', true],
  ])('are bought until the file is whole with buyMore, where its length is %s', async (_name, isChunked) => {
    const library = await stock(createVolume(2.5 * megabyte, { isChunked }))
    await download(library.url, { prepayBytes, buyMore: true })
    expect([isHere(library.volume), await fixture.received(), library.volume.asked.length]).toEqual([true, 3, 3])
  })

  it('are bought within the budget only', async () => {
    const library = await stock(createVolume(2.5 * megabyte))
    const limited = { prepayBytes, buyMore: true, budget: { perDay: { USDC: '0.02' } } }
    await expectError(download(library.url, limited), 'budget_exceeded')
    expect([statSync(`${path}.part`).size, await fixture.received()]).toEqual([2 * megabyte, 2])
  })

  it.each([
    ['ignores Range', { hasRanges: false }, 2],
    ['has no ETag', { etag: undefined }, 1],
  ])('are not bought for ever from a server that %s', async (_name, more, payments) => {
    const library = await stock(createVolume(2.5 * megabyte, more))
    await expectError(
      download(library.url, { prepayBytes, buyMore: true }),
      'allowance_exhausted',
      /whole file with prepayBytes/,
    )
    expect(await fixture.received()).toBe(payments)
  })

  it('are not bought endlessly from a server with a new ETag every time', async () => {
    const volume = createVolume(2.5 * megabyte)
    Object.defineProperty(volume, 'etag', { get: () => `"${volume.asked.length}"` })
    const library = await stock(volume)
    await expectError(download(library.url, { prepayBytes: 10_000, buyMore: true }), 'allowance_exhausted')
    expect(library.volume.asked.length).toBeLessThan(10)
  })

  it.each<[string, Partial<Challenge>, string]>([
    ['a megabyte', { allowance: { unit: 'byte', amount: '1000000' } }, 'unit=byte; remaining=0'],
    ['a request', {}, 'unit=request; remaining=0'],
  ])('T257: are not bought again from a server that sends one byte for %s', async (_name, sold, allowance) => {
    let left = 5
    const url = await fixture.host((request, response) => {
      if (!hasProof(request)) {
        left -= 1
        response.writeHead(left < 0 ? 404 : 402, { 'Content-Type': 'application/json' })
        response.end(challengeFor(fixture, url, { requestId: `rid_${crypto.randomUUID()}`, proof: [], ...sold }))
        return
      }
      const from = /bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0
      const range = { 'Content-Range': `bytes ${from}-${from}/1000000000`, 'Content-Length': '1', ETag: '"a"' }
      response.writeHead(206, { ...range, 'Payment-Status': 'partial', 'Payment-Allowance': allowance })
      response.end('x')
    })
    const error = await expectError(download(`${url}/file`, { buyMore: true }), 'allowance_exhausted', /only 1 bytes/)
    expect(error.facts).toMatchObject({ offset: 1, resumable: true, size: 1_000_000_000 })
    expect([statSync(`${path}.part`).size, await fixture.received()]).toEqual([1, 1])
  })

  it('T257: are bought further after a broken connection, which goes on with the same payment first', async () => {
    const library = await stock(createVolume(2.5 * megabyte))
    await breakOff(library, 400_000)
    const bought: number[] = []
    const approve: DownloadOptions['approve'] = () => bought.push(statSync(`${path}.part`).size) > 0
    await download(library.url, { prepayBytes, buyMore: true, approve })
    expect(isHere(library.volume)).toBe(true)
    expect(bought[0]).toBeGreaterThan(400_000)
    expect([bought.length, await fixture.received()]).toEqual([2, 3])
  })

  it('that are left are used first', async () => {
    const library = await stock(createVolume(0.6 * megabyte))
    await download(library.url, { prepayBytes })
    await expectError(download(`${library.url}?2`, { prepayBytes }), 'allowance_exhausted')
    expect([statSync(`${path}.part`).size, await fixture.received()]).toEqual([0.4 * megabyte, 1])
  })
})

it('a resource that costs a request is delivered again on the same payment', async () => {
  const library = await stock(createVolume(2 * megabyte), { per: 'request' })
  await breakOff(library, 400_000)
  await download(library.url)
  expect([isHere(library.volume), await fixture.received(), library.volume.asked.length]).toEqual([true, 1, 2])
})

describe('free requests', () => {
  const open = async (volume: Volume): Promise<Stock> => {
    const url = await fixture.host((request, response) => answer(volume, request, response))
    const line = await openLine(fixture, url)
    return { volume, shop: undefined as unknown as Shop, line, url: `${line.url}/file` }
  }

  it('is gone on with as well', async () => {
    const library = await open(createVolume(2 * megabyte))
    const kept = await breakOff(library, 400_000, false)
    await download(library.url)
    expect([isHere(library.volume), library.volume.asked.at(-1)?.range]).toEqual([true, `bytes=${kept}-`])
  })

  it('and was whole already is put in its place', async () => {
    const library = await open(createVolume(1_000))
    const { bytes } = library.volume
    const about = (more: object) =>
      writeFileSync(`${path}.part.json`, JSON.stringify({ url: library.url, validator: '"first"', ...more }))
    writeFileSync(`${path}.part`, bytes)
    about({ size: 1_000 })
    expect(await download(library.url)).toEqual({ kind: 'saved', path, bytes: 1_000 })
    expect([isHere(library.volume), library.volume.asked]).toEqual([true, []])
    writeFileSync(`${path}.part`, bytes)
    about({})
    expect(await download(library.url)).toMatchObject({ kind: 'saved', bytes: 1_000, response: { status: 416 } })
    expect([isHere(library.volume), filesHere()]).toEqual([true, ['file']])
  })

  it.each<[string, object, string]>([
    ['of another address', { url: 'http://elsewhere/file', validator: '"first"' }, 'undefined'],
    ['of another ETag', { validator: '"zeroth"' }, 'bytes=500-'],
    ['without a note of its ETag', {}, 'undefined'],
    ['longer than the whole', { validator: '"first"', size: 400 }, 'undefined'],
    ['of another size', { validator: '"first"', size: 900 }, 'bytes=500-'],
  ])('begins anew where there is a part %s', async (_name, about, range) => {
    const library = await open(createVolume(1_000))
    writeFileSync(`${path}.part`, Buffer.alloc(500, 'x'))
    writeFileSync(`${path}.part.json`, JSON.stringify({ url: library.url, ...about }))
    await download(library.url)
    expect([isHere(library.volume), String(library.volume.asked[0]?.range)]).toEqual([true, range])
  })

  it('and longer than it says is not taken for the resource, and begins anew', async () => {
    const volume = createVolume(1_000)
    let isLying = true
    const url = await fixture.host((request, response) => {
      if (!isLying) return answer(volume, request, response)
      response.writeHead(206, { ETag: '"first"', 'Content-Range': 'bytes 500-999/1000' })
      response.end(Buffer.alloc(600))
    })
    writeFileSync(`${path}.part`, volume.bytes.subarray(0, 500))
    writeFileSync(`${path}.part.json`, JSON.stringify({ url: `${url}/`, validator: '"first"', size: 1_000 }))
    await expect(download(url)).rejects.toMatchObject({ code: 'size_mismatch' })
    expect(existsSync(path)).toBe(false)
    isLying = false
    await download(url)
    expect(isHere(volume)).toBe(true)
  })

  it('leaves the part of another address alone until there is something to write', async () => {
    const library = await open(createVolume(1_000))
    writeFileSync(`${path}.part`, 'another')
    const about = { url: 'http://elsewhere/file', validator: '"first"' }
    writeFileSync(`${path}.part.json`, JSON.stringify(about))
    await expect(download('http://127.0.0.1:1/')).rejects.toMatchObject({ code: 'server_unavailable' })
    expect([readFileSync(`${path}.part`, 'utf8'), note()]).toEqual(['another', about])
    await download(library.url)
    expect(filesHere()).toEqual(['file'])
  })

  it('replaces a file only as a whole, and keeps its rights', async () => {
    const library = await open(createVolume(2 * megabyte))
    writeFileSync(path, 'before')
    chmodSync(path, 0o640)
    library.line.cutAfter(megabyte)
    await expect(download(library.url)).rejects.toThrow()
    expect(readFileSync(path, 'utf8')).toBe('before')
    const link = join(fixture.directory, `link-${count}`)
    symlinkSync(path, link)
    expect(await downloadWith402(library.url, link, options())).toMatchObject({ kind: 'saved', path: link })
    expect([isHere(library.volume), statSync(path).mode & 0o777]).toEqual([true, 0o640])
  })

  it('is left to another download that is at it, and taken over from one that died', async () => {
    const library = await open(createVolume(1_000))
    const about = { url: library.url, validator: '"first"', size: 1_000 }
    writeFileSync(`${path}.part`, library.volume.bytes.subarray(0, 10))
    const hold = (holder: string) => writeFileSync(`${path}.part.json`, JSON.stringify({ ...about, holder }))
    hold(processName(process.ppid))
    const busy = await download(library.url).catch((error: unknown) => error)
    expect(busy).toBeInstanceOf(DownloadError)
    expect(busy).toMatchObject({ code: 'file_busy', message: expect.stringContaining(path) })
    hold('999999999:1')
    const both = await Promise.allSettled([download(library.url), download(library.url)])
    const codes = both.map((one) => (one.status === 'rejected' ? one.reason.code : one.status))
    expect(codes.sort()).toEqual(['file_busy', 'fulfilled'])
    expect([isHere(library.volume), library.volume.asked[0]?.range]).toEqual([true, 'bytes=10-'])
  })

  it('is left to one that is just taking the place, unless that died long ago', async () => {
    const library = await open(createVolume(1_000))
    const lock = `${path}.part.json.lock`
    writeFileSync(lock, '')
    await expect(download(library.url)).rejects.toMatchObject({ code: 'file_busy' })
    const before = new Date(statSync(lock).mtimeMs - 11_000)
    utimesSync(lock, before, before)
    await download(library.url)
    expect([isHere(library.volume), filesHere()]).toEqual([true, ['file']])
  })

  it('is left to another download that is at it, though the same place is written in another way', async () => {
    const library = await open(createVolume(1_000))
    const other = join(path, '..', 'other')
    symlinkSync(join(path, '..'), other)
    const both = await Promise.allSettled(
      [path, join(other, 'file')].map((place) => downloadWith402(library.url, place, options())),
    )
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'file_busy' } })
    expect(isHere(library.volume)).toBe(true)
  })

  it.each(['.part', `.part.json.${process.pid}`])('is not written through a link that was laid at %s', async (end) => {
    const library = await open(createVolume(1_000))
    const victim = join(fixture.directory, `victim-${count}`)
    writeFileSync(victim, 'precious')
    symlinkSync(victim, `${path}${end}`)
    const [outcome] = await Promise.allSettled([download(library.url)])
    expect([outcome?.status, readFileSync(victim, 'utf8')]).toEqual([
      end === '.part' ? 'rejected' : 'fulfilled',
      'precious',
    ])
  })

  it('and is an error, is left to be read', async () => {
    const url = await fixture.host((_request, response) => response.writeHead(404).end('none'))
    const answered = await download(url)
    expect(answered).toMatchObject({ kind: 'answered', response: { status: 404 } })
    expect([answered.kind === 'answered' && (await answered.response.text()), filesHere()]).toEqual(['none', []])
  })

  it('and is empty, is an empty file', async () => {
    const library = await open(createVolume(0))
    expect(await download(library.url)).toMatchObject({ kind: 'saved', bytes: 0 })
    expect([readFileSync(path).length, filesHere()]).toEqual([0, ['file']])
  })

  it('and comes of a POST, is never put together', async () => {
    const library = await open(createVolume(2 * megabyte))
    const post = { method: 'POST', body: 'x' }
    library.line.cutAfter(megabyte)
    await expect(download(library.url, post)).rejects.toThrow()
    await download(library.url, post)
    expect([isHere(library.volume), library.volume.asked.at(-1)?.range]).toEqual([true, undefined])
    library.line.cutAfter(megabyte)
    await expect(download(library.url, post)).rejects.toThrow()
    await download(library.url)
    expect(library.volume.asked.at(-1)?.range).toBeUndefined()
    writeFileSync(`${path}.part`, 'whole')
    writeFileSync(`${path}.part.json`, JSON.stringify({ url: library.url, validator: '"first"', size: 5 }))
    await download(library.url, post)
    expect(isHere(library.volume)).toBe(true)
  })

  it('is complete with any encoding that its caller accepts', async () => {
    const seen: unknown[] = []
    const url = await fixture.host((request, response) => {
      seen.push(request.headers['accept-encoding'])
      response.end('plain')
    })
    await download(url, { headers: { 'accept-encoding': 'gzip' } })
    expect([seen, readFileSync(path, 'utf8')]).toEqual([['identity'], 'plain'])
  })
})

it('a pipe or a directory is not replaced, and nothing is asked for', async () => {
  const { url, volume } = await stock(createVolume(1_000))
  execFileSync('mkfifo', [path])
  for (const place of [path, join(path, '..')])
    await expect(downloadWith402(url, place, options())).rejects.toMatchObject({ code: 'file_unwritable' })
  expect([statSync(path).isFIFO(), filesHere(), volume.asked]).toEqual([true, ['file'], []])
})

it.each<[string, readonly unknown[]]>([
  ['"/data" is not a full address, such as https://data.example.com/set.', ['/data', 'file', {}]],
  ['the path of the file is missing.', ['https://data.example.com/set', undefined, {}]],
  ['the options are missing; pass at least { wallet }.', ['https://data.example.com/set', 'file']],
  ['buyMore must be true or false.', ['https://data.example.com/set', 'file', { buyMore: 'false' }]],
  ['onProgress must be a function.', ['https://data.example.com/set', 'file', { onProgress: true }]],
  ['overflow must be a function.', ['https://data.example.com/set', 'file', { overflow: 'stdout' }]],
  ['approve must be a function.', ['https://data.example.com/set', 'file', { approve: true }]],
  ['onEvent must be a function.', ['https://data.example.com/set', 'file', { onEvent: 'log' }]],
])('wrong arguments are named: %s', async (words, given) => {
  const call = downloadWith402 as unknown as (...all: readonly unknown[]) => Promise<unknown>
  await expect(call(...given)).rejects.toThrow(new TypeError(`downloadWith402: ${words}`))
})

it('a Range of the caller is not for downloads, and a place that cannot be written costs nothing', async () => {
  const { url } = await stock(createVolume(1_000))
  await expect(download(url, { headers: { Range: 'bytes=1-' } })).rejects.toThrow(/sets Range itself/)
  const nowhere = downloadWith402(url, join(path, 'nowhere'), options())
  await expect(nowhere).rejects.toMatchObject({ code: 'file_unwritable', message: expect.stringMatching(/ENOENT/) })
  expect(await fixture.received()).toBe(0)
})

describe('a file that is fetched in parts', () => {
  const range = (from: number, to: number) => ({ headers: { range: `bytes=${from}-${to - 1}` } })
  const bytesOf = async (response: Response) => (await readToTheEnd(response)).bytes

  it('is paid once, in any order of its parts, until all of it has arrived', async () => {
    const { volume, url } = await whole(createVolume(megabyte))
    const own = options()
    for (const [from, to] of [
      [900_000, megabyte],
      [0, 500_000],
      [900_000, megabyte],
      [500_000, 900_000],
    ] as const) {
      const part = await fetchWith402(url, range(from, to), own)
      expect((await bytesOf(part)).equals(volume.bytes.subarray(from, to))).toBe(true)
    }
    expect(await fixture.received()).toBe(1)
    // Nobody gets a byte a fourth time: that is another purchase.
    for (const payments of [0, 0, 1]) {
      expect((await bytesOf(await fetchWith402(url, range(0, 10), own))).length).toBe(10)
      expect(await fixture.received()).toBe(payments)
    }
  })

  it('from a server that ignores Range is refused, and the payment is good for the whole', async () => {
    const { volume, url } = await whole(createVolume(megabyte, { hasRanges: false }))
    const own = options()
    const error = await expectError(fetchWith402(url, range(10, 20), own), 'payment_refused', /Request the whole/)
    expect(error.facts.refusal).toBe('range_mismatch')
    expect((await bytesOf(await fetchWith402(url, own))).equals(volume.bytes)).toBe(true)
    expect(await fixture.received()).toBe(1)
  })
})
