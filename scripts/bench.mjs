// `npm run bench`: installs, builds, measures. The options are in bench/README.md.
import { build, endWithParent, install } from './prepare.mjs'

install({ everything: true })
build()
endWithParent()
await import('../bench/run.mjs')
