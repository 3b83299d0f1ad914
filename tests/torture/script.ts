/** Runs a script of this folder to its end, and reads the JSON of its last line. It ends with the test, whatever happens. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export async function runScript(name: string, ...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const path = fileURLToPath(new URL(name, import.meta.url))
  const child = spawn(process.execPath, [path, '--json', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGTERM'))
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (data) => {
    stdout += data
  })
  child.stderr.on('data', (data) => {
    stderr += data
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${stdout}${stderr}`)
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}
