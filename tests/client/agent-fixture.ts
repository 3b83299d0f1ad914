/** Agents (agent.mjs) as processes that can be killed at a known moment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { writeBundle } from '../harness/write-bundle.mjs'

const clientEntry = fileURLToPath(new URL('../../dist/client/index.js', import.meta.url))
const script = fileURLToPath(new URL('./agent.mjs', import.meta.url))

/** For the order of agents. */
export function bundleClient(directory: string): Promise<string> {
  return writeBundle(directory, clientEntry)
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
