/** The progress of a download: one line on a terminal that is overwritten. */
import type { Progress } from '../../client/download/download.ts'
import { bytesText } from '../allowance-text.ts'

const everyMs = 100

export interface ProgressLine {
  show(progress: Progress): void
  /** Removes the line. */
  end(): void
}

/** Does nothing without a terminal. */
export function showProgress(isQuiet: boolean): ProgressLine {
  const { stderr } = process
  if (isQuiet || !stderr.isTTY) return { show: () => {}, end: () => {} }
  let isShown = false
  let shownAt = Number.NEGATIVE_INFINITY
  return {
    show: ({ bytes, size }) => {
      const now = performance.now()
      if (now - shownAt < everyMs) return
      shownAt = now
      isShown = true
      const of = size === undefined ? '' : ` of ${bytesText(size)} (${Math.floor((bytes / Math.max(1, size)) * 100)} %)`
      stderr.write(`\r\u001b[K${bytesText(bytes)}${of}`)
    },
    end: () => {
      if (isShown) stderr.write('\r\u001b[K')
      isShown = false
    },
  }
}
