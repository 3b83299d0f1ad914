/** When a gateway reads its configuration again: at SIGHUP and, where that is wanted, whenever a file beside it is saved. */
import { realpathSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { envFileName } from '../../host/env-file.ts'

export interface Reloads {
  /** Ends it, once the one that runs is over. */
  stop(): Promise<void>
}

/** Editors write a file in several steps. */
const settleMs = 100

/** One after the other: what is asked for while one runs is done once more after it. */
export function followChanges(path: string, isWatching: boolean, reload: () => Promise<void>): Reloads {
  let running: Promise<void> | undefined
  let isWanted = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const run = async (): Promise<void> => {
    while (isWanted) {
      isWanted = false
      await reload()
    }
    running = undefined
  }
  const want = (): void => {
    isWanted = true
    running ??= run()
  }
  const soon = (): void => {
    clearTimeout(timer)
    timer = setTimeout(want, settleMs)
  }
  process.on('SIGHUP', want)
  const names = [basename(path), envFileName]
  let place = readRealPath(path)
  /** A directory of Kubernetes holds links through a directory that is exchanged: the file's own name tells nothing. */
  const isMoved = (): boolean => {
    const before = place
    place = readRealPath(path)
    return place !== before
  }
  // The directory, since many editors put a new file in the place of the old one.
  const watcher = isWatching
    ? watch(dirname(resolve(path)), (_event, name) => {
        if (name === null || names.includes(name) || isMoved()) soon()
      })
        // A folder that can no longer be watched does not end the service. SIGHUP still works.
        .on('error', () => {})
    : undefined
  return {
    stop: async () => {
      process.off('SIGHUP', want)
      clearTimeout(timer)
      watcher?.close()
      isWanted = false
      await running
    },
  }
}

/** Where a file really is; undefined for one that is gone. */
function readRealPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
