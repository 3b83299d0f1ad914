// `npm run check`: style, types and unused exports.
import { pathToFileURL } from 'node:url'
import { build, install, say, tool } from './prepare.mjs'

export function check() {
  say('Checking style…')
  tool('@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.')
  say('Checking types…')
  tool('typescript/bin/tsc', '-p', 'tsconfig.json')
  say('Checking for unused exports…')
  tool('knip/bin/knip.js', '--no-progress')
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  install({ everything: true })
  build()
  check()
}
