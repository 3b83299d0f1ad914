import { describe, expect, it } from 'vitest'
import { readInput, readQuery } from '../http/inputs.ts'
import { verifyBody } from '../public/bodies.ts'
import { pageQuery, seriesQuery, summaryQuery } from './queries.ts'

const tx = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
const mark = { at: 1, tx: new Uint8Array(64) }
const page = pageQuery((text) => (text === 'good' ? mark : undefined))
const read = (query: string) => readQuery(page, new URLSearchParams(query))
const problemsOf = (query: string) => {
  const reading = read(query)
  return reading.kind === 'problems' ? reading.problems : []
}

describe('the query of the list', () => {
  it('has defaults for everything', () => {
    expect(read('')).toEqual({ kind: 'input', input: { order: 'latest', limit: 50 } })
  })

  it('reads all of it', () => {
    const query =
      'from=2026-01-01&to=1769860800000&endpoint=/api/a&token=SOL&status=Verified&order=oldest&limit=500&cursor=good&view=usage'
    expect(read(query)).toEqual({
      kind: 'input',
      input: {
        from: Date.parse('2026-01-01T00:00:00Z'),
        to: 1_769_860_800_000,
        endpoint: '/api/a',
        token: 'SOL',
        status: 'confirmed',
        order: 'oldest',
        limit: 500,
        cursor: mark,
        view: ['usage'],
      },
    })
  })

  it.each([
    ['pending', 'pending'],
    ['Pending', 'pending'],
    ['confirmed', 'confirmed'],
    ['Verified', 'confirmed'],
    ['expired', 'expired'],
    ['Expired', 'expired'],
  ])('takes either spelling of a status: %s', (spelled, status) => {
    const reading = read(`status=${spelled}`)
    expect(reading.kind === 'input' && reading.input.status).toBe(status)
  })

  it('reports all problems at once, with the correct form of each parameter', () => {
    expect(
      problemsOf('form=x&limit=501&order=up&token=btc&status=done&from=soon&cursor=forged&view=all&endpoint='),
    ).toEqual([
      'from must be a time with a zone (2026-01-31T12:00:00Z), a date (2026-01-31) or milliseconds',
      'endpoint must have 1 to 2048 characters, as shown in the list',
      "token must be one of NATIVE, USDC, SOL, or a code of the service's own tokens",
      'status must be one of pending, confirmed, expired, Pending, Verified, Expired',
      'order must be one of latest, oldest, largest, smallest',
      'limit must be a whole number from 1 to 500',
      'cursor must be a cursor from this service; start again without it',
      'view must be some of records, usage, revenue, tokens, totals, names, separated by commas',
      'form is unknown; did you mean from?',
    ])
  })

  it.each(['limit=0', 'limit=-1', 'limit=1e2', 'limit=', 'limit= 5', 'limit=501'])('refuses %s', (query) => {
    expect(problemsOf(query)).toEqual(['limit must be a whole number from 1 to 500'])
  })

  it('refuses a period that ends before it begins, and repeated parameters', () => {
    expect(problemsOf('from=2026-02-01&to=2026-01-01')).toEqual(['from must be before to'])
    expect(problemsOf('token=SOL&token=USDC')).toEqual(['token appears more than once'])
  })
})

describe('other queries', () => {
  it('know their own names only', () => {
    expect(readQuery(summaryQuery, new URLSearchParams('step=day'))).toEqual({
      kind: 'problems',
      problems: ['step is unknown; supported are from, to, before'],
    })
    expect(readQuery(seriesQuery, new URLSearchParams(''))).toEqual({ kind: 'input', input: { step: 'hour' } })
  })
})

describe('the body of a verification', () => {
  it('has the documented names, of which few are required', () => {
    expect(readInput(verifyBody, { tx, requestId: 'abc' })).toEqual({ kind: 'input', input: { tx, requestId: 'abc' } })
  })

  it('tells all that is wrong at once', () => {
    const body = { tx: 'short', requestid: 'x', payer: 'me', amount: true, mint: 'usdc', ['constructor']: 1 }
    expect(readInput(verifyBody, body)).toEqual({
      kind: 'problems',
      problems: [
        'tx must be the signature of a transaction in base58',
        'requestId is missing',
        'payer must be a Solana address',
        'amount must be a number or decimal text',
        "mint must be one of NATIVE, USDC, SOL, or a code of the service's own tokens",
        'requestid is unknown; did you mean requestId?',
        'constructor is unknown; supported are tx, requestId, payer, recipient, amount, mint',
      ],
    })
  })

  it.each([null, [], 'text', 7])('refuses %j', (body) => {
    expect(readInput(verifyBody, body)).toEqual({ kind: 'problems', problems: ['the body must be a JSON object'] })
  })

  it('refuses an amount without its token, and does not mind __proto__', () => {
    expect(readInput(verifyBody, { tx, requestId: 'abc', amount: 1 })).toEqual({
      kind: 'problems',
      problems: ['amount needs mint'],
    })
    const body = JSON.parse(`{"tx":"${tx}","requestId":"abc","__proto__":{"valid":true}}`)
    const reading = readInput(verifyBody, body)
    expect(reading.kind === 'problems' || !('valid' in reading.input)).toBe(true)
  })
})
