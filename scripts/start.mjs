// `npm start`: the whole product on the embedded localnet, from a fresh clone.
import { build, endWithParent, install } from './prepare.mjs'

await install()
await build()
endWithParent()
const { main } = await import('../dist/cli/main.js')
process.exitCode = await main(['demo', ...process.argv.slice(2)])
