// `npm start`: the whole product on the embedded localnet, from a fresh clone.
import { build, install } from './prepare.mjs'

install()
build()
// npm passes a SIGTERM only to the shell between us and it: when that is gone, we are meant.
const parent = process.ppid
const watch = setInterval(() => {
  if (process.ppid === parent) return
  clearInterval(watch)
  process.kill(process.pid, 'SIGTERM')
}, 500)
watch.unref()
const { main } = await import('../dist/cli/main.js')
process.exitCode = await main(['demo', ...process.argv.slice(2)])
