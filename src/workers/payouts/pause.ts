/**
 * The switch that stops payouts, conversions and refunds on all servers. Transactions sent before are still followed.
 */
import type { Signing } from '../../core/payouts/outgoing-wallet.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'

const name = 'rewards/paused'
/** Until it is resumed. */
const longMs = 100 * 365 * 86_400_000

export function createPauseSwitch(kv: KeyValueStore, clock: Clock) {
  return {
    isPaused: async () => (await kv.get(name)) !== undefined,
    /** False if it was paused already. */
    pause: () => kv.put(name, new Date(clock.now()).toISOString(), clock.now() + longMs),
    resume: () => kv.remove(name),
  }
}

export type PauseSwitch = ReturnType<typeof createPauseSwitch>

export const paused = 'outgoing transactions are paused; resume them with npx paystile rewards resume'

/**
 * Signs unless payouts are paused before or after signing, which can take a while. Signed bytes are sent only after
 * they are stored, so bytes that this function withholds are never sent.
 */
export async function signUnlessPaused<Signed extends { readonly kind: Signing['kind'] }>(
  isPaused: () => Promise<boolean>,
  sign: () => Promise<Signed>,
): Promise<Signed | Extract<Signing, { kind: 'unavailable' }>> {
  if (await isPaused()) return { kind: 'unavailable', why: paused }
  const signing = await sign()
  return signing.kind === 'signed' && (await isPaused()) ? { kind: 'unavailable', why: paused } : signing
}
