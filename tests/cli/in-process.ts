/** Runs a command in this process, where the test can reach what is around it. */
import { vi } from 'vitest'
import { main } from '../../src/cli/main.ts'
import type { Finished } from './command.ts'

/** `isTerminal`: a person reads what it writes to stdout. */
export async function runHere(
  args: readonly string[],
  { isTerminal = false } = {},
): Promise<Finished & { readonly code: number }> {
  const written = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += text
      return true
    }),
  )
  if (isTerminal) Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true })
  try {
    return { code: await main(args), ...written }
  } finally {
    for (const spy of spies) spy.mockRestore()
    if (isTerminal) Reflect.deleteProperty(process.stdout, 'isTTY')
  }
}
