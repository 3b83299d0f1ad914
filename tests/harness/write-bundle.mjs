// Bundles of programs that tests start many times.
import { mkdirSync, symlinkSync } from 'node:fs'
import { join, parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/** One file instead of hundreds of modules, for `loadBundle` (bundle.cjs): the start is most of a short process. */
export async function writeBundle(directory, input) {
  mkdirSync(directory, { recursive: true })
  symlinkSync(
    fileURLToPath(new URL('../../node_modules', import.meta.url)),
    join(directory, 'node_modules'),
    'junction',
  )
  const built = await rolldown({
    input,
    platform: 'node',
    // They bring files of their own.
    external: [/^@photostructure\//, /^litesvm/, 'pg-native'],
    logLevel: 'silent',
  })
  const file = join(directory, `${parse(input).name}.cjs`)
  // Node 20 refuses `import()` in a script that it takes from its cache.
  await built.write({ file, format: 'cjs', codeSplitting: false, minify: true, dynamicImportInCjs: false })
  await built.close()
  return file
}
