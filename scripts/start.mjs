// `npm start`: the whole product on the embedded localnet, from a fresh clone.
import { build, install } from './prepare.mjs'

install()
build()
const { main } = await import('../dist/cli/main.js')
process.exitCode = await main(['demo', ...process.argv.slice(2)])
