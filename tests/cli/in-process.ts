/** Runs a command in this process: the same code as the built command, without the start of a process. */
import { vi } from 'vitest'
import { main } from '../../src/cli/main.ts'
import type { Finished } from './command.ts'

type Ended = Finished & { readonly code: number }

/** `isTerminal`: a person reads what it writes to stdout. */
export async function runHere(args: readonly string[], { isTerminal = false } = {}): Promise<Ended> {
  const written = { stdout: '', stderr: '' }
  const before = { ...process.env }
  const { argv } = process
  process.argv = [process.execPath, 'paystile', ...args]
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text, ...rest) => {
      written[name] += typeof text === 'string' ? text : Buffer.from(text).toString()
      const done = rest.find((one) => typeof one === 'function') as (() => void) | undefined
      if (done) process.nextTick(done)
      return true
    }),
  )
  if (isTerminal) Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true })
  try {
    return { code: await main(args), ...written }
  } finally {
    for (const spy of spies) spy.mockRestore()
    if (isTerminal) Reflect.deleteProperty(process.stdout, 'isTTY')
    process.argv = argv
    // A command reads the file .env into the environment.
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
  }
}

export function paystile(...args: readonly string[]): Promise<Ended> {
  return runHere(args)
}

/** In a directory of its own, such as that of a gateway's files. */
export async function paystileIn(directory: string, ...args: readonly string[]): Promise<Ended> {
  const before = process.cwd()
  process.chdir(directory)
  try {
    return await runHere(args)
  } finally {
    process.chdir(before)
  }
}
