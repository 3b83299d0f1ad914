import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadEnvFile, readEnvFile } from './env-file.ts'

const fresh = () => mkdtempSync(join(tmpdir(), 'paystile-env-'))
function write(text: string, mode = 0o600): string {
  const directory = fresh()
  writeFileSync(join(directory, '.env'), text)
  chmodSync(join(directory, '.env'), mode)
  return directory
}

it('adds variables that the environment lacks, and replaces none', () => {
  const directory = write('# secrets\nPAYSTILE_SECRET=1:abc\nPORT="80"\nEMPTY=of file\n')
  const environment: Record<string, string | undefined> = { PORT: '81', EMPTY: '' }
  expect(loadEnvFile(directory, environment).kind).toBe('read')
  expect(environment).toEqual({ PORT: '81', EMPTY: '', PAYSTILE_SECRET: '1:abc' })
})

it('tells a file that others can read', () => {
  expect(readEnvFile(write('A=1', 0o600))).toEqual({ kind: 'read', values: { A: '1' }, isOpen: false })
  expect(readEnvFile(write('A=1', 0o644))).toMatchObject({ isOpen: true })
})

it('handles a missing file, a directory and bytes that are not text', () => {
  expect(readEnvFile(fresh())).toEqual({ kind: 'absent' })
  expect(readEnvFile('/nowhere/at/all')).toEqual({ kind: 'absent' })
  const directory = fresh()
  mkdirSync(join(directory, '.env'))
  expect(readEnvFile(directory)).toEqual({ kind: 'unreadable', why: 'EISDIR' })
  expect(readEnvFile(write('\u0000\u0001====\n=\n'))).toMatchObject({ kind: 'read' })
})
