// Runs the bundle of a script with what V8 has compiled of it before, which halves what a start costs:
// `launch.cjs <bundle> <options as JSON>`. Whoever finds nothing compiled leaves it to those who come later.
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { constants, Script } = require('node:vm')

const [bundle] = process.argv.splice(2, 1)
const compiled = `${bundle}.compiled`
const cachedData = existsSync(compiled) ? readFileSync(compiled) : undefined
const script = new Script(`((exports, require) => {${readFileSync(bundle, 'utf8')}\n})`, {
  filename: bundle,
  cachedData,
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
})
const server = {}
script.runInThisContext()(server, require('node:module').createRequire(bundle))
server.ready.then(() => {
  if (!cachedData) {
    keepCompiled()
    // Once more when it has served for a while: what is compiled only then is most of it.
    process.once('message', () => setTimeout(keepCompiled, 1_200))
  }
  process.send('ready')
})

function keepCompiled() {
  writeFileSync(`${compiled}.new`, script.createCachedData())
  renameSync(`${compiled}.new`, compiled)
}
