/** Control over the time after which a large body counts as arrived although its connection shows nothing. */
import { vi } from 'vitest'

/** Keeps quiet times from passing. The function returned lets those pass that are waited for. */
export function holdQuietTime(): () => void {
  const [set, clear] = [globalThis.setTimeout, globalThis.clearTimeout]
  const held = new Map<unknown, () => void>()
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((call: () => void, ms?: number, ...rest: never[]) => {
    if (ms !== 2_000) return set(call, ms, ...rest)
    const timer = set(() => {}, 0)
    held.set(timer, call)
    return timer
  }) as typeof setTimeout)
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    held.delete(timer)
    clear(timer)
  })
  return () => {
    for (const call of held.values()) call()
  }
}
