import { execFileSync } from 'node:child_process'
import { constants, mkdtempSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openPartFile } from './part-file.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'paystile-test-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

it('closes a file that cannot be synced', async () => {
  const path = join(directory, 'download')
  // A pipe cannot be synced, and it cannot be opened for writing while no process reads it.
  execFileSync('mkfifo', [`${path}.part`])
  const file = await openPartFile(path, 'http://localhost/')
  await file.close()
  const pipe = open(`${path}.part`, constants.O_WRONLY | constants.O_NONBLOCK)
  await expect(pipe).rejects.toMatchObject({ code: 'ENXIO' })
})

it('is left to a second copy of the client in this process that is at it', async () => {
  const path = join(directory, 'download')
  vi.resetModules()
  const copy = await import('./part-file.ts')
  expect(copy.openPartFile).not.toBe(openPartFile)
  const held = await copy.openPartFile(path, 'http://localhost/file')
  await expect(openPartFile(path, 'http://localhost/file')).rejects.toMatchObject({ code: 'file_busy' })
  await held.close()
  await (await openPartFile(path, 'http://localhost/file')).close()
})
