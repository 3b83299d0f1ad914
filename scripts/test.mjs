// `npm test`: the build, then every test, and beside them style, types and unused exports. With arguments it runs only
// those tests: `npm test -- src/core`. With `--long` it runs the full form of the suites that have a short one.
import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { build, install, installPeers, root, say } from './prepare.mjs'

const given = process.argv.slice(2)
const isLong = given.includes('--long')
const tests = given.filter((argument) => argument !== '--long')

install({ everything: true })
if (tests.length === 0 || tests.some((path) => path.includes('interop') || 'tests/interop'.includes(path)))
  installPeers()
build()
if (isLong) process.env['PAYSTILE_TEST_LONG'] = '1'

const running = [start('node_modules/vitest/vitest.mjs', 'run', ...tests)]
if (!isLong && tests.length === 0) {
  const checks = start('scripts/check.mjs', '--prepared')
  // The tests wait for sockets and timers now and then. The checks use the processor meanwhile.
  if (checks.pid !== undefined) setPriority(checks.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  running.push(checks)
}

/**
 * Starts a program. When it fails, the others end, too.
 *
 * @param {string} script
 * @param {string[]} args
 */
function start(script, ...args) {
  const child = spawn(process.execPath, [join(root, script), ...args], { cwd: root, stdio: ['inherit', 2, 2] })
  child.once('close', (code) => {
    running.splice(running.indexOf(child), 1)
    if (code === 0 || process.exitCode) return
    process.exitCode = code ?? 1
    if (running.length > 0) say(`${script} has failed. The rest is stopped.`)
    for (const other of running) other.kill()
  })
  return child
}
