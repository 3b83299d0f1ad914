// `npm run bench`: installs, builds, measures. The options are in bench/README.md.
import { build, endWithParent, install, installPeers } from './prepare.mjs'

await install({ everything: true })
await installPeers()
await build()
endWithParent()
await import('../bench/run.mjs')
