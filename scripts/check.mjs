// `npm run check`: style, types and unused exports, beside each other.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, compile, digestOf, install, installPeers, listFiles, root, say, tool } from './prepare.mjs'

const stamp = join(root, 'node_modules/.cache/checked')

/** Checks the style while the rest is prepared, and types as soon as it is. Files that passed are not checked again. */
export async function prepareAndCheck() {
  const files = digestOf(listFiles('.'))
  const isChecked = existsSync(stamp) && readFileSync(stamp, 'utf8') === files
  if (!isChecked) say('Checking style, types and unused exports…')
  const style = isChecked || tool('@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.')
  await Promise.all([installPeers(), build({ checksTypes: false })])
  if (isChecked) return
  await Promise.all([
    style,
    ...['tsconfig.json', 'bench/tsconfig.json', 'tests/tsconfig.programs.json'].map(checkTypes),
    tool('knip/bin/knip.js', '--no-progress', '--cache'),
  ])
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, files)
}

/** Keeps the result below node_modules, so that the next run checks only the files that changed and those that use them. */
function checkTypes(project) {
  const known = join(root, 'node_modules/.cache/types', `${project.replaceAll('/', '-')}.tsbuildinfo`)
  return compile(project, '--incremental', '--tsBuildInfoFile', known)
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await install({ everything: true })
  await prepareAndCheck()
}
