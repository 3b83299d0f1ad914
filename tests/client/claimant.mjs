/** One of several processes that begin downloads into the same places at the same moments, and says which it got. */
import { writeSync } from 'node:fs'

const [module = '', directory, beginning, rounds] = process.argv.slice(2)
const { openPartFile } = await import(module)
const held = []
const say = (what) => writeSync(1, `${what}\n`)

for (let round = 0; round < Number(rounds); round += 1) {
  // Exactly together: a timer alone is too coarse.
  const moment = Number(beginning) + round * 20
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, moment - Date.now() - 5)))
  while (Date.now() < moment) {}
  await openPartFile(`${directory}/${round}`, 'http://localhost/').then(
    (file) => {
      held.push(file)
      say(round)
    },
    ({ code }) => code === 'file_busy' || say(code),
  )
}
// What was got is held until all processes are through.
say('through')
process.stdin.resume().once('end', () => process.exit(0))
