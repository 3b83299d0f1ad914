/** The built pages in `dist/pages`, read once and kept. */
import { createHash } from 'node:crypto'
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

/**
 * The files of a page by their path below it, such as `assets/index.js`; empty if they are not found. `complete` may
 * change the text of its documents.
 */
export function readPage(
  name: 'checkout' | 'dashboard' | 'plain',
  complete: (html: string) => string = (html) => html,
): ReadonlyMap<string, PageFile> {
  try {
    // The distance is the same from the sources and from the compiled files. In a bundle the directory may not exist.
    const folder = new URL(`../../dist/pages/${name}/`, import.meta.url)
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'))
    return new Map(
      names.flatMap((file) => {
        const type = types[extname(file)]
        if (type === undefined) return []
        const read = readFileSync(new URL(file, folder))
        const bytes = extname(file) === '.html' ? Buffer.from(complete(read.toString())) : read
        return [[file, { type, bytes, gzip: gzipSync(bytes, { level: 9 }) }] as const]
      }),
    )
  } catch {
    return new Map()
  }
}

/** The files of the checkout. Without them the pages still work, as they do without JavaScript. */
export function readCheckoutFiles() {
  const files = new Map([...readPage('checkout'), ...readPage('plain')])
  const readText = (name: string) => new TextDecoder().decode(files.get(name)?.bytes)
  const script = readText('checkout.js')
  const version = createHash('sha256').update(script).digest('base64url').slice(0, 8)
  return { version, script, style: readText('checkout.css'), plainStyle: readText('plain.css') }
}
