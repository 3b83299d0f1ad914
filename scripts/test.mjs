// `npm test`: style, types and unused exports, the build, then every test. With arguments it runs only those tests:
// `npm test -- src/core`. With `--long` it runs the full form of the suites that have a short one.
import { prepareAndCheck } from './check.mjs'
import { build, install, installPeers, tool } from './prepare.mjs'

const given = process.argv.slice(2)
const isLong = given.includes('--long')
const tests = given.filter((argument) => argument !== '--long')
const needsPeers =
  tests.length === 0 || tests.some((path) => path.includes('interop') || 'tests/interop'.includes(path))

await install({ everything: true })
if (isLong) process.env['PAYSTILE_TEST_LONG'] = '1'
if (tests.length === 0 && !isLong) await prepareAndCheck()
else await Promise.all([needsPeers && installPeers(), build()])
await tool('vitest/vitest.mjs', 'run', ...tests)
