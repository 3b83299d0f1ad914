import { describe, expect, it } from 'vitest'
import { addView, formatViewAddress, parseViews, readViewQuery } from './views.ts'

const late = { name: 'Late', query: 'status=Expired' }

describe('saved views', () => {
  it.each([
    [null, []],
    ['', []],
    ['{', []],
    ['{"name":"a"}', []],
    [
      JSON.stringify([late, null, 1, { name: 'a' }, { name: '', query: '' }, { name: 'x'.repeat(41), query: '' }]),
      [late],
    ],
    [JSON.stringify([{ ...late, more: 1, query: 'q'.repeat(2_001) }]), []],
  ])('are read from %j', (text, expected) => {
    expect(parseViews(text)).toEqual(expected)
  })

  it('are replaced by a view with the same name, and twenty at most', () => {
    expect(addView([late], { name: ' Late ', query: 'token=SOL' })).toEqual([{ name: 'Late', query: 'token=SOL' }])
    expect(addView([late], { name: '  ', query: '' })).toEqual([late])
    const many = Array.from({ length: 20 }, (_, number) => ({ name: `${number}`, query: '' }))
    const more = addView(many, late)
    expect([more.length, more[0]?.name, more.at(-1)?.name]).toEqual([20, '1', 'Late'])
  })

  it('keep filters and period, but no open payment', () => {
    expect(readViewQuery(new URLSearchParams('token=SOL&period=30d&payment=abc'))).toBe('token=SOL&period=30d')
    expect(formatViewAddress({ name: 'a', query: 'token=SOL&period=30d' })).toBe(
      '/dashboard/payments?period=30d&token=SOL',
    )
  })
})
