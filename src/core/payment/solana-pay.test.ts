import { describe, expect, it } from 'vitest'
import { type TransferLink, transferLink } from './solana-pay.ts'

const link: TransferLink = {
  recipient: 'Recipient',
  amount: '0.01',
  mint: undefined,
  requestId: 'AQEB',
  label: 'Moon & Sons',
}
const read = (more: Partial<TransferLink>) => new URLSearchParams(transferLink({ ...link, ...more }).split('?')[1])

describe('a transfer link', () => {
  it('names the seller, the item, the exact amount and the memo', () => {
    const params = read({ message: 'The moon, now?', mint: 'Mint' })
    expect(Object.fromEntries(params)).toMatchObject({
      amount: '0.01',
      'spl-token': 'Mint',
      label: 'Moon & Sons',
      message: 'The moon, now?',
      memo: 'AQEB',
    })
    expect(read({}).has('message')).toBe(false)
  })

  it.each([
    ['x'.repeat(72), 'x'.repeat(72)],
    ['x'.repeat(73), `${'x'.repeat(63)}\u2026`],
    ['\u6708'.repeat(40), `${'\u6708'.repeat(7)}\u2026`],
    ['\u{1f319}'.repeat(9), `${'\u{1f319}'.repeat(5)}\u2026`],
    ['half a \ud83c', 'half a \ufffd'],
  ])('stays short, and is cut between characters: %s', (text, shown) => {
    expect([read({ label: text }).get('label'), read({ message: text }).get('message')]).toEqual([shown, shown])
  })
})
