// Ends a script with one sentence on a Node that is too old for it, before npm installs anything.
import { readFileSync } from 'node:fs'

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const oldest = engines.node.replace('>=', '')
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const [oldestMajor, oldestMinor] = oldest.split('.').map(Number)
if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
  process.stderr.write(`Node ${process.versions.node} is too old; use Node ${oldest} or later.\n`)
  process.exit(1)
}
