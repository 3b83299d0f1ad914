// `npm run torture`: installs, builds, and kills servers under load, with `-- --foreign` servers that sell to x402 and MPP
// clients, with `-- --slices` servers that hold slices of bundles, with `-- --payouts` the workers that pay, or with
// `-- --agents` the agents that buy. The arguments are in tests/torture: run.mjs, foreign.mjs, slices.mjs, payouts.mjs and
// agents.mjs.
import { build, install, installPeers, run } from './prepare.mjs'

await install({ everything: true })
await build()
const name = ['payouts', 'agents', 'foreign', 'slices'].find((one) => process.argv.includes(`--${one}`)) ?? 'run'
if (name === 'foreign') await installPeers()
await run(process.execPath, [`tests/torture/${name}.mjs`, ...process.argv.slice(2)], { stdout: 'inherit' })
