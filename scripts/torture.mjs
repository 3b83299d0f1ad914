// `npm run torture`: installs, builds, and kills servers under load, or with `-- --payouts` the workers that pay. Their
// arguments are in tests/torture/run.mjs and tests/torture/payouts.mjs.
import { build, install, run } from './prepare.mjs'

install({ everything: true })
build()
const script = process.argv.includes('--payouts') ? 'tests/torture/payouts.mjs' : 'tests/torture/run.mjs'
run(process.execPath, [script, ...process.argv.slice(2)], { stdout: 'inherit' })
