import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { replaceFile } from './replace-file.ts'

let directory = ''
let path = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'paystile-replace-'))
  path = join(directory, 'paystile.yaml')
  writeFileSync(path, 'old')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('replacing a file', () => {
  it.each([0o600, 0o640, 0o644, 0o664])('keeps the mode %o', async (mode) => {
    chmodSync(path, mode)
    expect(await replaceFile(path, 'old', 'new')).toBe('replaced')
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(statSync(path).mode & 0o777).toBe(mode)
    expect(readdirSync(directory)).toEqual(['paystile.yaml'])
  })

  it('leaves a text that is not the expected one', async () => {
    expect(await replaceFile(path, 'older', 'new')).toBe('changed')
    expect(readFileSync(path, 'utf8')).toBe('old')
    expect(readdirSync(directory)).toEqual(['paystile.yaml'])
  })

  it('keeps a link, and replaces its target', async () => {
    const link = join(directory, 'link.yaml')
    symlinkSync(path, link)
    expect(await replaceFile(link, 'old', 'new')).toBe('replaced')
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readFileSync(path, 'utf8')).toBe('new')
  })

  it('writes through no link that somebody put in the place of the draft', async () => {
    const other = join(directory, 'other')
    writeFileSync(other, 'private')
    symlinkSync(other, `${path}.edit`)
    await expect(replaceFile(path, 'old', 'new')).rejects.toThrow('another edit is running, or one was interrupted')
    expect([readFileSync(path, 'utf8'), readFileSync(other, 'utf8')]).toEqual(['old', 'private'])
  })

  it('tells how to go on after an interrupted edit, whose copy stays', async () => {
    writeFileSync(`${path}.edit`, 'half a te')
    await expect(replaceFile(path, 'old', 'new')).rejects.toThrow(
      'If it stays, delete paystile.yaml.edit beside paystile.yaml: it is the copy of the interrupted edit',
    )
    expect([readFileSync(path, 'utf8'), readFileSync(`${path}.edit`, 'utf8')]).toEqual(['old', 'half a te'])
    rmSync(`${path}.edit`)
    expect(await replaceFile(path, 'old', 'new')).toBe('replaced')
  })

  it('lets one of several writers through', async () => {
    const results = await Promise.allSettled(['a', 'b', 'c'].map((text) => replaceFile(path, 'old', text)))
    const replaced = results.filter((result) => result.status === 'fulfilled' && result.value === 'replaced')
    expect(replaced).toHaveLength(1)
    expect(readdirSync(directory)).toEqual(['paystile.yaml'])
  })
})
