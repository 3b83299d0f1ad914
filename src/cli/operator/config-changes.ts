/** Reloads a gateway's configuration at SIGHUP and, on request, whenever it or the file `.env` is saved. */
import { realpathSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { attempt } from '../../core/errors/attempt.ts'
import { envFileName } from '../../host/env-file.ts'

export interface Reloads {
  /** Stops after the running reload. */
  stop(): Promise<void>
}

/** Editors write a file in several steps. */
const settleMs = 100

/** Runs one reload at a time. Requests during a reload cause one more after it. */
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
  /** Kubernetes mounts files as links through a directory that it exchanges, so the event does not name the file. */
  const isMoved = (): boolean => {
    const before = place
    place = readRealPath(path)
    return place !== before
  }
  // Watches the directory, because many editors replace the file.
  const watcher = isWatching
    ? watch(dirname(resolve(path)), (_event, name) => {
        if (name === null || names.includes(name) || isMoved()) soon()
      })
        // A watch error does not end the service. SIGHUP still works.
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

/** The real path of a file; undefined if it does not exist. */
function readRealPath(path: string): string | undefined {
  return attempt(() => realpathSync(path))
}
