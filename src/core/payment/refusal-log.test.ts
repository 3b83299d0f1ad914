import { describe, expect, it } from 'vitest'
import { createRefusalLog } from './refusal-log.ts'

function openLog() {
  let now = 1_000
  const log = createRefusalLog({ now: () => now })
  const note = (...entry: Parameters<typeof log.note>) => {
    now += 1
    log.note(...entry)
  }
  return { log, note }
}

describe('the log of refused proofs', () => {
  it('counts equal refusals in one entry, with the first and the last time', () => {
    const { log, note } = openLog()
    note('underpaid', '/a', 'payer-1')
    note('underpaid', '/b', 'payer-1')
    note('underpaid', '/a', 'payer-1')
    note('tx_not_found', '/a', '')
    expect(log.list()).toEqual([
      { first: 1_004, last: 1_004, count: 1, endpoint: '/a', payer: '', code: 'tx_not_found' },
      { first: 1_001, last: 1_003, count: 2, endpoint: '/a', payer: 'payer-1', code: 'underpaid' },
      { first: 1_002, last: 1_002, count: 1, endpoint: '/b', payer: 'payer-1', code: 'underpaid' },
    ])
  })

  it('T190: holds a hundred entries of a reason, and a flood of one reason displaces no other', () => {
    const { log, note } = openLog()
    note('underpaid', '/a', 'payer-1')
    for (let number = 0; number < 5_000; number += 1) note('proof_malformed', `/path-${number}`, `payer-${number}`)
    const entries = log.list()
    expect(entries).toHaveLength(101)
    expect(entries[0]).toMatchObject({ endpoint: '/path-4999' })
    expect(entries.at(-1)).toMatchObject({ code: 'underpaid' })
  })
})
