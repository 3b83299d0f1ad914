/** Exports as somebody downloads them: what is in them, what a spreadsheet makes of it, and what they cost. */
import fc from 'fast-check'
import { readXlsx } from 'hucre/xlsx'
import { describe, expect, it } from 'vitest'
import { formatPayment, paymentColumns } from '../../src/api/analytics/format.ts'
import { createExports } from '../../src/api/exports/routes.ts'
import { readPages } from '../../src/api/exports/rows.ts'
import { xlsxStream } from '../../src/api/exports/xlsx.ts'
import { guardCell, readCell } from '../../src/core/encoding/csv.ts'
import type { PaymentListItem } from '../../src/core/payment/history.ts'
import type { Facts } from '../../src/core/runtime.ts'
import { size } from '../harness/length.ts'
import { captureAt, createBooks, createHandClock, createShelf } from './fake-services.ts'

const decimalsOf = () => 6

function setUp(count: number, make: (index: number) => PaymentListItem = captureAt) {
  const clock = createHandClock()
  const kv = createShelf(clock)
  const { books, reads } = createBooks(count, make)
  const logged: Facts[] = []
  const note = (_event: string, facts: Facts = {}) => void logged.push(facts)
  const exports = createExports({
    books,
    kv,
    clock,
    log: { info: note, warn: note, error: note },
    key: new Uint8Array(32).fill(9),
    decimalsOf,
    isOwner: () => true,
  })
  const ask = (query: string, method = 'GET', owner = 'owner') =>
    exports.handle(new Request(`https://api.example/api/analytics/export${query}`, { method }), owner)
  return { ask, books, clock, exports, logged, reads, kv }
}

/** RFC 4180, by hand. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  let [row, cell, isQuoted]: [string[], string, boolean] = [[], '', false]
  for (let index = 0; index < text.length; index += 1) {
    const sign = text[index] ?? ''
    if (isQuoted) {
      if (sign !== '"') cell += sign
      else if (text[index + 1] === '"') {
        cell += '"'
        index += 1
      } else isQuoted = false
    } else if (sign === '"' && cell === '') isQuoted = true
    else if (sign === ',' || (sign === '\r' && text[index + 1] === '\n')) {
      row.push(cell)
      cell = ''
      if (sign === '\r') {
        rows.push(row)
        row = []
        index += 1
      }
    } else cell += sign
  }
  expect([row, cell, isQuoted]).toEqual([[], '', false])
  return rows
}

const odd = [
  '=HYPERLINK("http://evil.example","x")',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '"=1"',
  "'=1",
  "''=1",
  ' =1',
  '＝1',
  'a;=1',
  'a,=1',
  'a\n=1',
  'a"=1',
  "a;'=1",
  '/wetter/münchen',
  '日本語',
  '🌦️👩‍👩‍👧',
  '\u202eمرحبا\u202c',
  'a"b""c',
  'a\r\nb',
  "'",
  '"',
  '',
  ' ',
  '_x000D_',
  '_x0041_b',
  '<&>',
  '\u0000\u0001\u001f',
  '\ufffe',
  '-Vx_2a',
  'a\u2028b',
]
/** Any code points. The unit `binary` of fast-check costs more than a second of processor time before its first value. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 40 })
  .map((codes) => String.fromCodePoint(...codes))
const endpointName = fc.oneof(
  fc.constantFrom(...odd),
  anyText,
  fc.string({ unit: fc.constantFrom(..."=+-@\t\r\n;,|\"' 'aé＝"), maxLength: 12 }),
)
const decimal = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

async function cellsOf(response: Response): Promise<string[][]> {
  expect(response.status).toBe(200)
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await response.arrayBuffer())
  return parseCsv(text.replace(/^\ufeff/, ''))
}

describe('an export as CSV', () => {
  it('has a header, CRLF, a byte order mark and a row for every payment', async () => {
    const { ask } = setUp(3)
    const response = await ask('?format=csv')
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="payments-2026-01-31.csv"')
    expect(response.headers.get('cache-control')).toContain('no-store')
    const bytes = new Uint8Array(await response.arrayBuffer())
    expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf])
    const lines = new TextDecoder().decode(bytes).split('\r\n')
    expect(lines).toHaveLength(5)
    expect(lines[0]).toBe(paymentColumns.join(','))
    expect(lines[1]).toMatch(
      /^2026-01-01T00:00:00\.000Z,request-0,payer-0,\/api\/weather,USDC,0\.001,0\.001,USDC,Verified,/,
    )
  })

  it('says the same as the formatter of the screen, over many pages', async () => {
    const { ask, reads } = setUp(2_500)
    const [header, ...rows] = await cellsOf(await ask(''))
    expect(header).toEqual([...paymentColumns])
    expect(rows).toEqual(
      Array.from({ length: 2_500 }, (_, index) => Object.values(formatPayment(captureAt(index), decimalsOf, 'USDC'))),
    )
    expect(reads()).toBe(3)
  })

  it('T137: gives back every endpoint name, amount and worth exactly', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(endpointName, decimal, decimal), { maxLength: 5 }), async (list) => {
        const make = (index: number) => {
          const [endpoint = '', units = 0n, worth = 0n] = list[index] ?? []
          return captureAt(index, { endpoint, units, worth })
        }
        const [, ...rows] = await cellsOf(await setUp(list.length, make).ask(''))
        const wanted = list.map((_, index) => Object.values(formatPayment(make(index), decimalsOf, 'USDC')))
        // What UTF-8 cannot say, half a surrogate pair, arrives as the sign for that.
        expect(rows.map((row) => row.map(readCell))).toEqual(
          wanted.map((row) => row.map((cell) => Buffer.from(cell).toString())),
        )
        for (const row of rows) expect(`${row[5]} ${row[6]}`).toMatch(/^\d+(\.\d+)? \d+(\.\d+)?$/)
      }),
      { numRuns: 300 },
    )
  })

  it('T137: leaves no cell that begins like a formula, whichever sign the reader takes for a separator', () => {
    const separators = [/,/, /;/, /\t/, /\|/]
    fc.assert(
      fc.property(endpointName, (name) => {
        const cell = guardCell(name)
        expect(cell).not.toMatch(/^(?:["\s]*[=+\-@＝＋－＠]|[\t\r])/)
        for (const separator of separators) {
          const quoted = `"${cell.replaceAll('"', '""')}"`
          const pieces = quoted.split(new RegExp(`${separator.source}|[\\r\\n]`)).slice(1)
          for (const one of pieces) expect(one).not.toMatch(/^["\s]*[=+\-@＝＋－＠]/)
        }
      }),
      { numRuns: size(200, 5_000) },
    )
  })

  it('T137: guards text in a way that can be undone, for every text', () => {
    fc.assert(
      fc.property(endpointName, (name) => {
        expect(readCell(guardCell(name))).toBe(name)
      }),
      { numRuns: size(400, 20_000) },
    )
    for (const name of odd) expect(readCell(guardCell(name))).toBe(name)
  })

  it('takes the filters of the feed, and names all that is wrong with them', async () => {
    const { ask } = setUp(100, (index) => captureAt(index, { token: index % 2 ? 'SOL' : 'USDC' }))
    expect(await cellsOf(await ask('?token=SOL&from=2026-01-01T00:00:10Z'))).toHaveLength(1 + 45)
    const wrong = await ask('?format=pdf&token=eur&limit=3')
    expect(wrong.status).toBe(400)
    expect(await wrong.json()).toMatchObject({
      code: 'query_invalid',
      problems: [
        'format must be one of csv, json, xlsx, sheets',
        "token must be one of NATIVE, USDC, SOL, or a code of the service's own tokens",
        expect.stringContaining('limit is unknown'),
      ],
    })
  })
})

describe('an export as JSON', () => {
  it.each([0, 1, 1_000, 1_001])('is one array of %i records with the names of the columns', async (count) => {
    const response = await setUp(count).ask('?format=json')
    expect(response.headers.get('content-type')).toBe('application/json')
    const records = (await response.json()) as Record<string, string>[]
    expect(records).toEqual(
      Array.from({ length: count }, (_, index) => formatPayment(captureAt(index), decimalsOf, 'USDC')),
    )
    expect(Object.keys(records[0] ?? formatPayment(captureAt(0), decimalsOf, 'USDC'))).toEqual([...paymentColumns])
  })
})

describe('an export as XLSX', () => {
  it('T137: opened again has the same cells, all text, and no formula', async () => {
    const make = (index: number) => captureAt(index, { endpoint: odd[index] ?? '', units: 2n ** 64n - 1n })
    const response = await setUp(odd.length, make).ask('?format=xlsx')
    const book = await readXlsx(new Uint8Array(await response.arrayBuffer()), { readStyles: true })
    const [sheet] = book.sheets
    const [header, ...rows] = sheet?.rows ?? []
    expect(header).toEqual([...paymentColumns])
    const wanted = odd.map((_, index) => Object.values(formatPayment(make(index), decimalsOf, 'USDC')))
    expect(rows.map((row) => row.map((cell) => cell ?? ''))).toEqual(wanted)
    expect(rows[0]?.[5]).toBe('18446744073709.551615')
    for (const cell of sheet?.cells?.values() ?? []) {
      expect(cell.formula).toBeUndefined()
      expect(cell.type).toBe('string')
    }
    expect(sheet?.cells?.size ?? 0).toBeGreaterThan(odd.length)
  })

  it('goes on in another sheet, with the header again, where one is full', async () => {
    const { books } = createBooks(25)
    const stream = await xlsxStream(readPages({ books, filter: {}, decimalsOf }), paymentColumns, 10)
    const book = await readXlsx(new Uint8Array(await new Response(stream).arrayBuffer()))
    expect(book.sheets.map(({ name, rows }) => [name, rows.length, rows[0]?.[0]])).toEqual([
      ['Payments', 11, 'timestamp'],
      ['Payments_2', 11, 'timestamp'],
      ['Payments_3', 6, 'timestamp'],
    ])
    expect(book.sheets[2]?.rows.at(-1)?.[1]).toBe('request-24')
  })
})

describe('an export while it runs', () => {
  it.each(['csv', 'json', 'xlsx'])('reads ahead of a slow reader by no more than a little, as %s', async (format) => {
    const { ask, reads } = setUp(1_000_000)
    const response = await ask(`?format=${format}`)
    expect(reads()).toBe(1)
    const reader = response.body?.getReader()
    await reader?.read()
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1))
    expect(reads()).toBeLessThan(10)
    await reader?.cancel()
  })

  it.each(['csv', 'json', 'xlsx'])('stops reading when the other side leaves, as %s', async (format) => {
    const { ask, reads } = setUp(1_000_000)
    const reader = (await ask(`?format=${format}`)).body?.getReader()
    for (let part = 0; part < 3; part += 1) await reader?.read()
    await reader?.cancel()
    const before = reads()
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1))
    expect(reads()).toBeLessThanOrEqual(before + 1)
  })

  it.each(['csv', 'json', 'xlsx'])('breaks off where the store fails, and never looks whole, as %s', async (format) => {
    const { ask, logged } = setUp(5_000, (index) => {
      if (index === 3_000) throw new Error('the store is gone')
      return captureAt(index)
    })
    const response = await ask(`?format=${format}`)
    await expect(response.arrayBuffer()).rejects.toThrow()
    expect(logged).toEqual([{ why: 'Error: the store is gone' }])
  })

  it('fails before it begins where the first page cannot be read', async () => {
    const { ask } = setUp(1, () => {
      throw new Error('the store is gone')
    })
    for (let turn = 0; turn < 6; turn += 1) await expect(ask('')).rejects.toThrow('the store is gone')
  })

  it('names transactions only to a signed-in owner, in every format', async () => {
    const { ask } = setUp(2)
    const namesFor = async (owner: string) => {
      const csv = parseCsv((await (await ask('?format=csv', 'GET', owner)).text()).replace('\ufeff', ''))
      const json: object[] = await (await ask('?format=json', 'GET', owner)).json()
      const { sheets } = await readXlsx(new Uint8Array(await (await ask('?format=xlsx', 'GET', owner)).arrayBuffer()))
      return [csv[0], Object.keys(json[0] ?? {}), sheets[0]?.rows[0]]
    }
    const withoutTx = paymentColumns.filter((column) => column !== 'tx' && column !== 'refundTx')
    expect(await namesFor('owner')).toEqual([paymentColumns, paymentColumns, paymentColumns])
    expect(await namesFor('')).toEqual([withoutTx, withoutTx, withoutTx])
  })

  it('runs four at a time, and the next when one is read, has broken off or was left', async () => {
    const { ask } = setUp(3_000)
    const running = await Promise.all(Array.from({ length: 4 }, () => ask('')))
    expect((await ask('')).status).toBe(503)
    await running[0]?.text()
    const next = await ask('')
    expect(next.status).toBe(200)
    await next.body?.cancel()
    await running[1]?.body?.cancel()
    expect((await Promise.all([ask(''), ask(''), ask('')])).map(({ status }) => status)).toEqual([200, 200, 503])
  })

  it('counts one that is left while it waits for the store as one', async () => {
    const { ask, books } = setUp(3_000)
    const reader = (await ask('')).body?.getReader()
    await reader?.read()
    await reader?.read()
    const { listPayments: captures } = books
    let release = () => {}
    Object.assign(books, {
      listPayments: () =>
        new Promise((resolve) => {
          release = () => resolve([])
        }),
    })
    const waiting = reader?.read()
    await new Promise((resolve) => setTimeout(resolve, 5))
    const left = reader?.cancel()
    release()
    await Promise.all([waiting, left])
    Object.assign(books, { listPayments: captures })
    const statuses = (await Promise.all(Array.from({ length: 5 }, () => ask('')))).map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 200, 200, 503])
  })

  it('takes GET, and POST for sheets only', async () => {
    const { ask } = setUp(1)
    expect((await ask('?format=csv', 'POST')).status).toBe(405)
    expect((await ask('?format=csv', 'DELETE')).headers.get('allow')).toBe('GET, POST')
    expect((await ask('?format=sheets', 'POST')).status).toBe(501)
  })
})
