// `npm run bench`: measures each part beside its baseline, in one run, and writes bench-results.json.
import { mkdtempSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readArguments, UsageError } from './arguments.mjs'
import { formatComparison } from './comparison.mjs'
import { createProcesses, pinLoad } from './processes.mjs'
import { createSetting } from './setting.mjs'
import { sizes } from './sizes.mjs'

/**
 * @typedef {import('./arguments.mjs').Choice} Choice
 * @typedef {import('./statistics.mjs').Row} Row
 */

/** Signals that end a run, with their exit codes. */
const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }
const signalMs = 500
const output = fileURLToPath(new URL('../bench-results.json', import.meta.url))
const say = (/** @type {string} */ line) => void process.stderr.write(`${line}\n`)

class Interruption extends Error {
  /** @param {number} exitCode */
  constructor(exitCode) {
    super('interrupted')
    this.exitCode = exitCode
  }
}

try {
  const choice = readArguments(process.argv.slice(2))
  const rows = await run(choice)
  if (choice.isSmallest) writeSync(1, `${JSON.stringify(rows)}\n`)
  else report(rows)
  process.exit(0)
} catch (error) {
  say(describe(error))
  process.exit(error instanceof Interruption ? error.exitCode : 1)
}

/**
 * Runs the chosen benchmarks. No process and no file of theirs is left after it, also when it fails or is interrupted.
 *
 * @param {Choice} choice
 */
async function run({ chosen, isWanted, isLarge, isSmallest, against }) {
  const interrupted = listenForSignals()
  const home = mkdtempSync(join(tmpdir(), 'paystile-bench-'))
  process.env['PAYSTILE_HOME'] = home
  pinLoad()
  const processes = createProcesses({ isShared: isSmallest })
  const setting = createSetting({ processes, home, say, isLarge, against })
  const size = isSmallest ? sizes.smallest : sizes.usual
  /** @type {Row[]} */
  const rows = []
  try {
    for (const [index, { names, run: measure }] of chosen.entries()) {
      say(`${index + 1} of ${chosen.length}: ${names.join(', ')}`)
      const begun = performance.now()
      const measured = await Promise.race([measure(setting, size), processes.failure, interrupted])
      rows.push(...measured.filter(({ name }) => isWanted(name)))
      say(`  ${((performance.now() - begun) / 1000).toFixed(1)} s`)
    }
    return rows
  } catch (error) {
    // A signal that reaches all processes may break a benchmark before this process hears of it.
    const unless = new Promise((resolve) => setTimeout(resolve, signalMs)).then(() => processes.explain(error))
    throw await Promise.race([interrupted.catch((interruption) => interruption), unless])
  } finally {
    await processes.end().catch((error) => say(describe(error)))
    rmSync(home, { recursive: true, force: true })
  }
}

/** @returns {Promise<never>} Rejects at the first signal. */
function listenForSignals() {
  /** @type {Promise<never>} */
  const interrupted = new Promise((_, reject) => {
    for (const [signal, exitCode] of Object.entries(signals))
      process.on(signal, () => reject(new Interruption(exitCode)))
  })
  interrupted.catch(() => {})
  return interrupted
}

/** @param {readonly Row[]} rows */
function report(rows) {
  writeFileSync(output, `${JSON.stringify(rows, null, 2)}\n`)
  console.table(
    rows.map(({ name, unit, value, baseline, ratio, spread }) => ({ name, unit, value, baseline, ratio, spread })),
  )
  const comparison = formatComparison(rows)
  if (comparison !== '') writeSync(1, `\nThe table of README.md:\n\n${comparison}\n\n`)
  say(`written to bench-results.json; node ${process.version}, ${process.platform} ${process.arch}`)
}

/** @param {unknown} error */
function describe(error) {
  if (error instanceof UsageError || error instanceof Interruption) return error.message
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : `${error.stack}`
}
