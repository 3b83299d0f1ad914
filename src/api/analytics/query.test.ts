import { describe, expect, it } from 'vitest'
import { parseTime } from '../http/time-text.ts'
import { createCursors } from './cursor.ts'
import { columnsWithoutTransactions, formatPayment, withoutTransactions } from './format.ts'
import { formatPaymentFilter, readPaymentFilter } from './query.ts'

const tx = Uint8Array.from({ length: 64 }, (_, index) => index * 3)
const cursors = createCursors(new Uint8Array(32).fill(7))
const problemsOf = (query: string) => {
  const reading = readPaymentFilter(new URLSearchParams(query))
  return reading.kind === 'problems' ? reading.problems : []
}

describe('the query of captures', () => {
  it('is empty for an empty address', () => {
    expect(readPaymentFilter(new URLSearchParams())).toEqual({ kind: 'input', input: {} })
  })

  it('takes every filter, and both spellings of a status', () => {
    const text = 'from=2026-01-01&to=2026-02-01T00:00:00Z&endpoint=/api/w%C3%A9ther&token=USDC&status=Verified'
    const filter = {
      from: Date.UTC(2026, 0, 1),
      to: Date.UTC(2026, 1, 1),
      endpoint: '/api/wéther',
      token: 'USDC',
      status: 'confirmed',
    }
    expect(readPaymentFilter(new URLSearchParams(text))).toEqual({ kind: 'input', input: filter })
    expect(readPaymentFilter(new URLSearchParams('status=pending'))).toMatchObject({ input: { status: 'pending' } })
  })

  it('is the same after it was written and read again', () => {
    const filter = { from: 1_700_000_000_123, to: 1_800_000_000_000, endpoint: 'GET /a&b=c#d', token: 'SOL' } as const
    const again = new URLSearchParams(formatPaymentFilter(filter).toString())
    expect(readPaymentFilter(again)).toEqual({ kind: 'input', input: filter })
  })

  it('tells all that is wrong at once', () => {
    expect(problemsOf('frm=1&from=yesterday&to=2026-02-30&endpoint=&token=usdc&status=paid&limit=5')).toEqual([
      'from must be a time with a zone (2026-01-31T12:00:00Z), a date (2026-01-31) or milliseconds',
      'to must be a time with a zone (2026-01-31T12:00:00Z), a date (2026-01-31) or milliseconds',
      'endpoint must have 1 to 2048 characters, as shown in the list',
      "token must be one of NATIVE, USDC, SOL, or a code of the service's own tokens",
      'status must be one of pending, confirmed, expired, Pending, Verified, Expired',
      'frm is unknown; did you mean from?',
      'limit is unknown; supported are from, to, endpoint, token, status, state, payer',
    ])
  })

  it('refuses a name given twice, and an end before the beginning', () => {
    expect(problemsOf('token=SOL&token=USDC')).toEqual(['token appears more than once'])
    expect(problemsOf('from=2026-01-02&to=2026-01-02')).toEqual(['from must be before to'])
  })

  it('leaves names of an export to the export, and refuses those of a page there', () => {
    expect(readPaymentFilter(new URLSearchParams('format=csv'), ['format'])).toEqual({ kind: 'input', input: {} })
    expect(readPaymentFilter(new URLSearchParams('limit=3'), ['format']).kind).toBe('problems')
  })
})

describe('a time in a query', () => {
  it.each([
    ['2026-01-31', Date.UTC(2026, 0, 31)],
    ['2026-01-31T12:00:00Z', Date.UTC(2026, 0, 31, 12)],
    ['2026-01-31t12:00:00.5z', Date.UTC(2026, 0, 31, 12, 0, 0, 500)],
    ['2026-01-31T12:00:00+02:00', Date.UTC(2026, 0, 31, 10)],
    ['2026-01-31T12:00:00 02:00', Date.UTC(2026, 0, 31, 10)],
    ['2026-02-30', undefined],
    ['2026-13-01', undefined],
    ['2026-01-31T12:00:00', undefined],
    ['2026-01-31T25:00:00Z', undefined],
    ['1769860800000', 1_769_860_800_000],
    ['', undefined],
  ])('%s', (text, at) => {
    expect(parseTime(text)).toBe(at)
  })
})

describe('a cursor', () => {
  const mark = { at: 1_769_860_800_123, tx }

  it('opens to the place it was made of', () => {
    expect(cursors.read(cursors.write(mark))).toEqual(mark)
  })

  it('T135: does not show the transaction', () => {
    const bytes = Buffer.from(cursors.write(mark), 'base64url')
    expect(bytes.includes(Buffer.from(tx.subarray(0, 4)))).toBe(false)
    const other = Buffer.from(cursors.write({ ...mark, tx: tx.map((byte) => byte ^ 1) }), 'base64url')
    const difference = bytes.map((byte, index) => byte ^ (other[index] ?? 0)).subarray(16 + 8)
    expect(difference.every((byte) => byte === 1)).toBe(false)
  })

  it('is not opened when a character was changed, cut or sealed by another service', () => {
    const text = cursors.write(mark)
    for (let index = 0; index < text.length; index += 1) {
      const changed = `${text.slice(0, index)}${text[index] === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`
      expect(cursors.read(changed)).toBeUndefined()
    }
    expect(cursors.read(text.slice(0, -4))).toBeUndefined()
    expect(createCursors(new Uint8Array(32).fill(8)).read(text)).toBeUndefined()
  })
})

describe('a capture as people read it', () => {
  const capture = {
    tx,
    at: Date.UTC(2026, 0, 31, 12),
    request: 'rrrr',
    payer: '',
    recipient: 'recipient',
    endpoint: '/api/weather',
    token: 'USDC',
    units: 12_345_678_901_234_567n,
    worth: 1n,
    status: 'confirmed',
    state: 'finalized',
    delivery: 'all',
  } as const

  it('has decimals as plain text, never in exponent', () => {
    expect(formatPayment(capture, () => 6, 'USDC')).toMatchObject({
      timestamp: '2026-01-31T12:00:00.000Z',
      amount: '12345678901.234567',
      worth: '0.000000000001',
      revenueToken: 'USDC',
      status: 'Verified',
      verification: 'confirmed',
      payer: '',
    })
  })

  it('leaves unknown values empty', () => {
    const shared = { at: 1, units: 5n, why: '' } as const
    const record = formatPayment({ ...capture, worth: undefined }, () => undefined, 'USDC', { shared })
    expect(record).toMatchObject({ amount: '', worth: '', shared: '' })
  })

  it('T135: has no transaction for the feed', () => {
    const names = Object.keys(withoutTransactions(formatPayment(capture, () => 6, 'USDC')))
    expect(names).not.toContain('tx')
    expect(names).not.toContain('refundTx')
    expect(names).toEqual([...columnsWithoutTransactions])
  })
})
