import { expect, it } from 'vitest'
import { roomWords } from './store.ts'

it.each([
  [5_000_000_000, []],
  [500_000_000, ['warn only 500 MB are free on the disk of the ledger']],
  [50_000_000, ['fail only 50 MB are free on the disk of the ledger']],
  [undefined, []],
])('with %s bytes left on the disk', (freeBytes, words) => {
  const findings = roomWords({ name: 'ledger.sqlite', ...(freeBytes !== undefined && { freeBytes }) })
  expect(findings.map(({ level, finding }) => `${level} ${finding}`)).toEqual(words)
})
