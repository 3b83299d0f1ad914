import { describe, expect, it } from 'vitest'
import { byteOrderMark, formatCsvLine, guardCell, readCell } from './csv.ts'

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
    expect(readCell(cell)).toBe(text)
  })

  it('has quotes where they are needed, and a byte order mark', () => {
    const rows = [
      ['a', 'b"c'],
      ['d,e', '=1'],
    ]
    expect(`${byteOrderMark}${rows.map(formatCsvLine).join('')}`).toBe('\ufeffa,"b""c"\r\n"d,e","\'=1"\r\n')
  })
})
