// `npm test`: style, types, build, then every test. Arguments go to Vitest: `npm test -- src/core`.
import { build, install, say, tool } from './prepare.mjs'

install({ everything: true })
say('Checking style…')
tool('@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.')
say('Checking types…')
tool('typescript/bin/tsc', '-p', 'tsconfig.json')
build()
tool('vitest/vitest.mjs', 'run', ...process.argv.slice(2))
