// Runs the bundle of a script: `launch.cjs <bundle> <options as JSON>`. The first process keeps what V8 compiled for the
// ones that come later.
const { loadBundle } = require('../harness/bundle.cjs')

const [bundle] = process.argv.splice(2, 1)
const { exported, keepCompiled } = loadBundle(bundle)
exported.ready.then(() => {
  if (keepCompiled) {
    keepCompiled()
    // Once more when it has served for a while: what is compiled only then is most of it.
    process.once('message', () => setTimeout(keepCompiled, 1_200))
  }
  process.send('ready')
})
