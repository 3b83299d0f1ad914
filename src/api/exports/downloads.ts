/** Limits concurrent downloads. A download counts from its first page to its end, successful or not. */
import type { Clock, Log } from '../../core/runtime.ts'
import { plainHeaders, problem } from '../http/errors.ts'
import { watchEnd } from './rows.ts'

export interface Downloads {
  /** `open` creates the body after it has read the first page. */
  run(
    open: () => Promise<ReadableStream<Uint8Array>>,
    headers: () => Readonly<Record<string, string>>,
  ): Promise<Response>
}

export function createDownloads(most: number, log: Log): Downloads {
  let running = 0
  return {
    run: async (open, headers) => {
      if (running >= most) return problem('exports_full')
      running += 1
      const over = (error?: unknown) => {
        running -= 1
        if (error !== undefined) log.error('export.failed', { why: String(error) })
      }
      try {
        return new Response(watchEnd(await open(), over), { headers: headers() })
      } catch (error) {
        over()
        throw error
      }
    },
  }
}

export type Download = 'csv' | 'json' | 'xlsx'

const types: Readonly<Record<Download, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
}

/** `name` is the file name without the date. */
export function downloadHeaders(name: string, format: Download, clock: Clock): Record<string, string> {
  const day = new Date(clock.now()).toISOString().slice(0, 10)
  return {
    ...plainHeaders,
    'Content-Type': types[format],
    'Content-Disposition': `attachment; filename="${name}-${day}.${format}"`,
    // The address of a link is a secret.
    'Referrer-Policy': 'no-referrer',
  }
}
