/** Prints the ten slowest test files at the end of a run. */
import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

const length = 10

export const slowestFiles: Reporter = {
  onTestRunEnd(modules) {
    if (modules.length <= length) return
    const lines = modules
      .map((module) => ({ name: relative(process.cwd(), module.moduleId), seconds: secondsOf(module) }))
      .sort((one, other) => other.seconds - one.seconds)
      .slice(0, length)
      .map(({ name, seconds }) => `${seconds.toFixed(1).padStart(6)} s  ${name}`)
    process.stdout.write(`\n The ${length} slowest files\n${lines.join('\n')}\n`)
  },
}

function secondsOf(module: TestModule): number {
  const { duration, collectDuration, setupDuration } = module.diagnostic()
  return (duration + collectDuration + setupDuration) / 1000
}
