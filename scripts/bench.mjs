// `npm run bench`: installs, builds, measures. The options are in bench/README.md.
import { build, endWithParent, install, installPeers } from './prepare.mjs'

install({ everything: true })
installPeers()
build()
endWithParent()
await import('../bench/run.mjs')
