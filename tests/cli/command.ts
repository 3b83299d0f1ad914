/** Runs the built command as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export function paystileProcess(...args: readonly string[]): Promise<Finished> {
  return finished(start(['dist/cli/main.js', ...args]))
}

/** In a directory of its own, such as that of a gateway's files. */
export function paystileIn(directory: string, ...args: readonly string[]): Promise<Finished> {
  return finished(start([join(root, 'dist/cli/main.js'), ...args], directory))
}

export function start(args: readonly string[], cwd = root): ChildProcess {
  return spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
}

export function finished(child: ChildProcess): Promise<Finished> {
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (data) => {
    stdout += data
  })
  child.stderr?.on('data', (data) => {
    stderr += data
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
}

/** The error that a command ended with, where stdout is no terminal. */
export function errorOf({ stderr }: Finished): { readonly code: string; readonly message: string } {
  return JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error
}
