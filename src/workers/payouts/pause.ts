/** The switch that stops payouts, conversions and refunds on all servers. What was sent before is followed all the same. */
import type { Signing } from '../../core/payouts/outgoing-wallet.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'

const name = 'rewards/paused'
/** Until somebody says otherwise. */
const longMs = 100 * 365 * 86_400_000

export interface PauseSwitch {
  isPaused(): Promise<boolean>
  /** False when it was so already. */
  pause(): Promise<boolean>
  resume(): Promise<boolean>
}

export function createPauseSwitch(kv: KeyValueStore, clock: Clock): PauseSwitch {
  return {
    isPaused: async () => (await kv.get(name)) !== undefined,
    pause: () => kv.put(name, new Date(clock.now()).toISOString(), clock.now() + longMs),
    resume: () => kv.remove(name),
  }
}

export const paused = 'all that goes out is paused; npx paystile rewards resume lets it go on'

/**
 * Signs unless it is paused, by then or when it is done, which may take a while. What is signed is sent only after it was
 * kept: so what this keeps to itself never goes out.
 */
export async function signUnlessPaused<Signed extends { readonly kind: Signing['kind'] }>(
  isPaused: () => Promise<boolean>,
  sign: () => Promise<Signed>,
): Promise<Signed | Extract<Signing, { kind: 'unavailable' }>> {
  if (await isPaused()) return { kind: 'unavailable', why: paused }
  const signing = await sign()
  return signing.kind === 'signed' && (await isPaused()) ? { kind: 'unavailable', why: paused } : signing
}
