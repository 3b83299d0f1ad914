// `npm run torture`: installs, builds, and kills servers under load, with `-- --payouts` the workers that pay, or with
// `-- --agents` the agents that buy. The arguments are in tests/torture: run.mjs, payouts.mjs and agents.mjs.
import { build, install, run } from './prepare.mjs'

install({ everything: true })
build()
const name = ['payouts', 'agents'].find((one) => process.argv.includes(`--${one}`)) ?? 'run'
run(process.execPath, [`tests/torture/${name}.mjs`, ...process.argv.slice(2)], { stdout: 'inherit' })
