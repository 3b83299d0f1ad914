import { describe, expect, it } from 'vitest'
import {
  compareAmounts,
  compareShares,
  createColumnFormat,
  formatAmount,
  formatCount,
  formatPercent,
  formatRounded,
  formatShare,
  shorten,
} from './amounts.ts'

describe('amounts', () => {
  it.each([
    ['0', 'en-US', '0.00'],
    ['1234567.5', 'en-US', '1,234,567.50'],
    ['0.00002', 'en-US', '0.00002'],
    ['18446744073709551615.123456789', 'en-US', '18,446,744,073,709,551,615.123456789'],
    ['1234567.5', 'de-DE', '1.234.567,50'],
    ['1234.5', 'ar-EG', '1,234.50'],
    ['-3', 'en-US', '−3.00'],
    ['', 'en-US', '–'],
    ['1e5', 'en-US', '–'],
  ])('%s in %s is %s', (text, locale, shown) => {
    expect(formatAmount(text, locale)).toBe(shown)
  })

  it.each([
    ['684.120331', '684.12'],
    ['0.088708', '0.0887'],
    ['0.00579123', '0.00579'],
    ['0.999999', '1.00'],
    ['0', '0.00'],
    ['', '–'],
  ])('%s as a headline is %s', (text, shown) => {
    expect(formatRounded(text, 'en-US')).toBe(shown)
  })

  it.each([
    [
      ['0.4', '0.135', '0.1', '0.031'],
      ['0.400', '0.135', '0.100', '0.031'],
    ],
    [
      ['12.34567', '0.00579123'],
      ['12.34567', '0.00579'],
    ],
    [
      ['5', '684.120331'],
      ['5.00', '684.12'],
    ],
    [
      ['1', ''],
      ['1.00', '–'],
    ],
  ])('%j in a column are %j', (texts, shown) => {
    expect(texts.map(createColumnFormat(texts, 'en-US'))).toEqual(shown)
  })

  it.each([
    [undefined, '–'],
    [0, '0%'],
    [1, '100%'],
    [0.428, '42.8%'],
    [0.05, '5%'],
    [0.0004, '<0.1%'],
    [0.9999, '100%'],
    [14.2, '1,420%'],
  ])('a share of %s is %s', (share, shown) => {
    expect(formatShare(share, 'en-US')).toBe(shown)
  })

  it.each([
    [0, 4, '0%'],
    [0.005, 4, '0.5%'],
    [0.001234, 2, '0.12%'],
    [0.2, 2, '20%'],
  ])('a percentage of %s with at most %i places is %s', (share, places, shown) => {
    expect(formatPercent(share, 'en-US', places)).toBe(shown)
  })

  it('counts have groups', () => {
    expect(formatCount(7712, 'en-US')).toBe('7,712')
  })
})

describe('changes', () => {
  it.each([
    ['110', '100', { kind: 'up', text: '10%' }],
    ['90', '100', { kind: 'down', text: '10%' }],
    ['100', '100.00', { kind: 'same', text: '0%' }],
    ['0', '0', { kind: 'same', text: '0%' }],
    ['11', '1', { kind: 'up', text: '1,000%' }],
    ['324', '1', { kind: 'up', text: 'over 1,000%' }],
    ['5', '0', { kind: 'new' }],
    ['0', '5', { kind: 'down', text: '100%' }],
    ['-5', '10', { kind: 'down', text: '150%' }],
    ['5', '-10', { kind: 'none' }],
    ['-5', '0', { kind: 'none' }],
    ['5', undefined, { kind: 'none' }],
  ])('to %s from %s are told', (current, previous, change) => {
    expect(compareAmounts(current, previous, 'en-US')).toEqual(change)
  })

  it('of shares are in points', () => {
    expect(compareShares(0.428, 0.46, 'en-US')).toEqual({ kind: 'down', text: '3.2 pp' })
    expect(compareShares(0.5, undefined, 'en-US')).toEqual({ kind: 'none' })
  })
})

it('long names are told by their ends', () => {
  expect([shorten('EM6GsJV3vSdsAJBj8sbvRqwt'), shorten('short')]).toEqual(['EM6GsJ…Rqwt', 'short'])
})
