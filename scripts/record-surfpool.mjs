// `npm run record:surfpool [url]`: records the answers of surfpool with which the tests compare the localnet. Without
// the address of a running surfpool it starts one, where surfpool has a build for this machine.
import { createJiti } from 'jiti'
import { install, say } from './prepare.mjs'

await install({ everything: true })
const { import: load } = createJiti(import.meta.url)
const { record } = /** @type {any} */ (await load('../tests/localnet/recording.ts'))
const [rpcUrl] = process.argv.slice(2)
const surfpool = rpcUrl === undefined ? await start() : { rpcUrl, stop: () => {} }
const { version, transcript } = await record(surfpool)
surfpool.stop()
say(`Recorded ${transcript.size} answers of surfpool ${version} in tests/localnet/surfpool.json.`)

async function start() {
  const { hasSurfpool, machine, startSurfpool } = /** @type {any} */ (await load('../tests/harness/surfpool.ts'))
  if (hasSurfpool) return startSurfpool(20)
  say(`surfpool has no build for ${machine}: start it elsewhere, and give its address to this script.`)
  process.exit(1)
}
