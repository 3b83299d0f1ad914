import { expect, it } from 'vitest'
import { describeAllowance } from '../../look/allowances.ts'
import { formatUnit } from './offers.ts'

it('a price names its unit as the checkout does', () => {
  const units = (['request', 'second', 'byte'] as const).map((unit) => formatUnit({ per: { unit, amount: 3_600 } }))
  expect(units).toEqual(['3,600 requests', '1 hour', 'a megabyte'])
  const per = { unit: 'request', amount: 1 } as const
  expect(formatUnit({ per })).toBe('a request')
  expect(formatUnit({ per, reopenSeconds: 600 })).toBe('a request, reopened in a browser for 10 minutes')
})

it('an allowance is named as the buyer reads it', () => {
  expect(describeAllowance('second', '600')).toBe('10 minutes')
  expect(describeAllowance('byte', '2500000')).toBe('2.5 MB')
})
