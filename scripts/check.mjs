// `npm run check`: style, types and unused exports, beside each other.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, compile, install, installPeers, root, say, tool } from './prepare.mjs'

/** Checks the style while the rest is prepared, and types as soon as it is. */
export async function prepareAndCheck() {
  say('Checking style, types and unused exports…')
  const style = tool('@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.')
  await Promise.all([installPeers(), build({ checksTypes: false })])
  await Promise.all([
    style,
    ...['tsconfig.json', 'bench/tsconfig.json', 'tests/tsconfig.programs.json'].map(checkTypes),
    tool('knip/bin/knip.js', '--no-progress', '--cache'),
  ])
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
