// `npm run bench`: installs, builds, measures. Arguments choose what: `npm run bench -- unpaid`. With `-- --large` also the
// analytics over ten million payments.
import { build, install, run } from './prepare.mjs'

install({ everything: true })
build()
run(process.execPath, ['bench/run.mjs', ...process.argv.slice(2)], { stdout: 'inherit' })
