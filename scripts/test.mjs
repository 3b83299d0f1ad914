// `npm test`: style, types and unused exports, the build, then every test. With arguments it runs only those tests:
// `npm test -- src/core`. With `--long` it runs the full form of the suites that have a short one.
import { check } from './check.mjs'
import { build, install, installPeers, tool } from './prepare.mjs'

const given = process.argv.slice(2)
const isLong = given.includes('--long')
const tests = given.filter((argument) => argument !== '--long')

install({ everything: true })
if (tests.length === 0 || tests.some((path) => path.includes('interop') || 'tests/interop'.includes(path)))
  installPeers()
build()
if (isLong) process.env['PAYSTILE_TEST_LONG'] = '1'
else if (tests.length === 0) check()
tool('vitest/vitest.mjs', 'run', ...tests)
