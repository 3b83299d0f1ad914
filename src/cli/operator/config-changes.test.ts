import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { followChanges } from './config-changes.ts'

it('notices a file that is a link through a directory, as Kubernetes mounts it, when the directory is exchanged', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'paystile-watch-'))
  const publish = (version: string): void => {
    mkdirSync(join(directory, version))
    writeFileSync(join(directory, version, 'paystile.yaml'), version)
    symlinkSync(version, join(directory, '..data_tmp'))
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
  }
  publish('..1')
  const path = join(directory, 'paystile.yaml')
  symlinkSync(join('..data', 'paystile.yaml'), path)
  let reloads = 0
  const following = followChanges(path, true, async () => {
    reloads += 1
  })
  onTestFinished(async () => {
    await following.stop()
    rmSync(directory, { recursive: true })
  })
  writeFileSync(join(directory, 'notes.txt'), 'of no interest')
  publish('..2')
  await expect.poll(() => reloads).toBe(1)
})
