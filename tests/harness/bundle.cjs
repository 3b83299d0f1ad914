// Loads a bundle in CommonJS with the code that V8 compiled of it before, which halves the cost of a start.
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { constants, Script } = require('node:vm')

/**
 * `keepCompiled` stores the compiled code beside the bundle. It is undefined if there is some.
 *
 * @type {(bundle: string) => { exported: any, keepCompiled: (() => void) | undefined }}
 */
exports.loadBundle = (bundle) => {
  const compiled = `${bundle}.compiled`
  const cachedData = existsSync(compiled) ? readFileSync(compiled) : undefined
  const script = new Script(`((exports, require, __filename) => {${readFileSync(bundle, 'utf8')}\n})`, {
    filename: bundle,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const exported = {}
  script.runInThisContext()(exported, createRequire(bundle), bundle)
  const keepCompiled = () => {
    const own = `${compiled}.${process.pid}`
    writeFileSync(own, script.createCachedData())
    // Another process can read the file at any moment.
    renameSync(own, compiled)
  }
  return { exported, keepCompiled: cachedData ? undefined : keepCompiled }
}
