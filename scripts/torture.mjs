// `npm run torture`: installs, builds, and kills servers under load. Its arguments are in tests/torture/run.mjs.
import { build, install, run } from './prepare.mjs'

install({ everything: true })
build()
run(process.execPath, ['tests/torture/run.mjs', ...process.argv.slice(2)], { stdout: 'inherit' })
