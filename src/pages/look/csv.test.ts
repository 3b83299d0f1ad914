import { describe, expect, it } from 'vitest'
import { formatCsv, guardCell } from './csv.ts'

describe('CSV from a table', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\tx', "'\tx"],
    ['\rx', "'\rx"],
    [' =1', "' =1"],
    ["'=1", "''=1"],
    ['\uff1d1', "'\uff1d1"],
    ['a;=1', "a;'=1"],
    ['/api/a-b', '/api/a-b'],
    ['0.01', '0.01'],
  ])('T137: %j is only text: %j', (text, cell) => {
    expect(guardCell(text)).toBe(cell)
  })

  it('has quotes where they are needed, and a byte order mark', () => {
    expect(
      formatCsv([
        ['a', 'b"c'],
        ['d,e', '=1'],
      ]),
    ).toBe('\ufeffa,"b""c"\r\n"d,e","\'=1"\r\n')
  })
})
