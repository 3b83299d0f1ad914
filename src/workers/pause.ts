/** The switch that stops payouts, conversions and refunds on all servers. What was sent before is followed all the same. */
import type { Clock, Shelf } from '../core/ports.ts'

const name = 'rewards/paused'
/** Until somebody says otherwise. */
const longMs = 100 * 365 * 86_400_000

export interface PauseSwitch {
  isPaused(): Promise<boolean>
  /** False when it was so already. */
  pause(): Promise<boolean>
  resume(): Promise<boolean>
}

export function createPauseSwitch(shelf: Shelf, clock: Clock): PauseSwitch {
  return {
    isPaused: async () => (await shelf.get(name)) !== undefined,
    pause: () => shelf.put(name, new Date(clock.now()).toISOString(), clock.now() + longMs),
    resume: () => shelf.remove(name),
  }
}
