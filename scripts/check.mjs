// `npm run check`: style, types and unused exports.
import { pathToFileURL } from 'node:url'
import { build, install, installPeers, say, tool } from './prepare.mjs'

export function check() {
  say('Checking style…')
  tool('@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.')
  say('Checking types…')
  for (const project of ['tsconfig.json', 'bench/tsconfig.json', 'tests/tsconfig.programs.json']) {
    tool('typescript/bin/tsc', '-p', project)
  }
  say('Checking for unused exports…')
  tool('knip/bin/knip.js', '--no-progress')
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  install({ everything: true })
  installPeers()
  build()
  check()
}
