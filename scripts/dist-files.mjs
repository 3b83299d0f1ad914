// Which files of `dist` an entry point needs, and which packages. The packages that are published consist of these.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Every path in `exports` or `bin`, under all conditions. */
export function listEntries(targets) {
  return typeof targets === 'string' ? [targets] : Object.values(targets).flatMap(listEntries)
}

/**
 * The entries and everything that they lead to below `folder`: code and declarations, as paths from `folder`.
 *
 * Every quoted relative path that names a file counts as an import, whatever the syntax around it: a file too many does
 * no harm, a missing one would.
 */
export function followImports(folder, entries) {
  const found = new Set()
  const waiting = entries.map((entry) => join(entry))
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue
    found.add(file)
    for (const path of listQuoted(readFileSync(join(folder, file), 'utf8')))
      for (const target of listTargets(file, path))
        if (/\.(js|d\.ts)$/.test(target) && existsSync(join(folder, target))) waiting.push(target)
  }
  return [...found].sort()
}

/** The files that a path may name: that of a bundled package has one for Node and one for browsers. */
function listTargets(file, path) {
  const bundled = /^#vendor\/(.+)$/.exec(path)?.[1]
  if (bundled) return ['browser', 'node'].map((platform) => join('dist/vendor', platform, `${bundled}.js`))
  if (!/^\.\.?\//.test(path)) return []
  return [join(dirname(file), file.endsWith('.d.ts') ? path.replace(/\.[jt]s$/, '.d.ts') : path)]
}

/** Those of the named packages that one of the files imports, itself or a path in it. */
export function listPackages(folder, files, names) {
  const quoted = new Set(files.flatMap((file) => listQuoted(readFileSync(join(folder, file), 'utf8'))))
  return names.filter((name) => [...quoted].some((path) => path === name || path.startsWith(`${name}/`)))
}

function listQuoted(code) {
  return [...code.matchAll(/(['"])([^'"\n]+)\1/g)].map(([, , text]) => text)
}
