/** Agents (agent.mjs) as processes that can be killed at a known moment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('../..', import.meta.url))
const script = fileURLToPath(new URL('./agent.mjs', import.meta.url))

/** One file instead of hundreds of modules, and its compiled code after the first agent: the start is most of an agent. */
export async function bundleClient(directory: string): Promise<string> {
  mkdirSync(directory)
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  const file = join(directory, 'client.cjs')
  // The journal's SQLite brings a binary of its own.
  const built = await rolldown({
    input: join(root, 'dist/client/index.js'),
    external: /^@photostructure\//,
    platform: 'node',
  })
  // Node 20 refuses `import()` in a script that it takes from its cache.
  await built.write({ file, format: 'cjs', codeSplitting: false, minify: true, dynamicImportInCjs: false })
  await built.close()
  return file
}

export interface Agent {
  readonly lines: readonly string[]
  /** Resolves when it has said this, and fails when it ends before. */
  said(line: string): Promise<void>
  ended(): Promise<readonly string[]>
  kill(): Promise<void>
}

/** Starts an agent whose wallet and journal are in this folder. */
export function startAgent(home: string, order: Readonly<Record<string, unknown>>): Agent {
  const child: ChildProcess = spawn(process.execPath, [script], {
    env: { ...process.env, PAYSTILE_HOME: home, AGENT_ORDER: JSON.stringify(order) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  let heard = () => {}
  let text = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk
    const parts = text.split('\n')
    text = parts.pop() ?? ''
    lines.push(...parts)
    heard()
  })
  const over = new Promise<void>((resolve) => child.once('close', () => resolve()))
  return {
    lines,
    said: (line) =>
      new Promise((resolve, reject) => {
        heard = () => lines.includes(line) && resolve()
        heard()
        void over.then(() => reject(new Error(`it ended without a word of ${line}: ${lines}`)))
      }),
    ended: () => over.then(() => lines),
    kill: () => {
      child.kill('SIGKILL')
      return over
    },
  }
}
