import { describe, expect, it } from 'vitest'
import { formatId, formatMemo, formatRefundMemo, readKind, readOwnIds, readRefundMemo } from './outgoing-memo.ts'

const tag = 'own-tag_'
const random = 'r'.repeat(14)
const payment = '5'.repeat(88)

describe('the memo of an outgoing transaction', () => {
  it('T253: tells payouts, refunds and conversions apart', () => {
    for (const kind of ['payout', 'refund', 'conversion'] as const) {
      const [id = ''] = readOwnIds(`[32] ${formatMemo(formatId(tag, kind, random))}`, { tag })
      expect(readKind(id)).toBe(kind)
    }
    expect(readKind(`${tag}${random}`)).toBeUndefined()
  })

  it('T253: names the payment of a refund, and its reason', () => {
    const id = formatId(tag, 'refund', random)
    const memo = `[139] ${formatRefundMemo(id, { payment, reason: 'surplus' })}`
    expect(readOwnIds(memo, { tag })).toEqual([id])
    expect(readRefundMemo(memo)).toEqual({ payment, reason: 'surplus' })
    expect(readRefundMemo(memo.replace('surplus', 'whatever'))).toBeUndefined()
    expect(readRefundMemo(formatMemo(id))).toBeUndefined()
  })

  it('is not this service’s with the tag of another one', () => {
    expect(readOwnIds(formatMemo(formatId('their-tg', 'payout', random)), { tag })).toEqual([])
  })
})
