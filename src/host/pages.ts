/** The pages for people, as they were built into `dist/pages`: read once, and kept. */
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'

export interface PageFile {
  readonly type: string
  readonly bytes: Uint8Array
  readonly gzip: Uint8Array
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The files of a page by their path below it, such as `assets/index.js`; none where it was not built. */
export function readPage(name: 'checkout' | 'dashboard'): ReadonlyMap<string, PageFile> {
  // The same distance from the sources and from what is compiled of them.
  const folder = new URL(`../../dist/pages/${name}/`, import.meta.url)
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'))
    return new Map(
      names.flatMap((file) => {
        const type = types[extname(file)]
        if (type === undefined) return []
        const bytes = readFileSync(new URL(file, folder))
        return [[file, { type, bytes, gzip: gzipSync(bytes, { level: 9 }) }] as const]
      }),
    )
  } catch {
    return new Map()
  }
}
