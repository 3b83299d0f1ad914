/**
 * Verified hosts and their wallets, in the ledger's rewards. A lock per host serializes changes, so a check that began
 * earlier cannot undo a later verification.
 */
import { type DeveloperBook, dayMs, findVerification, verificationDays } from '../../core/payouts/developers.ts'
import type { Rewards } from '../../core/payouts/ports/rewards.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'

export interface DeveloperBookParts {
  readonly rewards: Pick<Rewards, 'verify' | 'revoke' | 'verifications'>
  readonly kv: Pick<KeyValueStore, 'put' | 'remove'>
  readonly clock: Clock
}

/** Expiry of the lock of a server that died. */
const holdMs = 10_000
const tries = 40
const pauseMs = 50

export function createDeveloperBook({ rewards, kv, clock }: DeveloperBookParts): DeveloperBook {
  const current: DeveloperBook['current'] = async (host) =>
    findVerification(await rewards.verifications(host), clock.now())

  const alone = async <Done>(host: string, change: () => Promise<Done>): Promise<Done | 'busy'> => {
    const name = `developers:change:${host}`
    for (let attempt = 0; attempt < tries; attempt += 1) {
      if (await kv.put(name, '', clock.now() + holdMs)) return await change().finally(() => kv.remove(name))
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    return 'busy'
  }

  const write = async (host: string, wallet: string) => {
    const from = clock.now()
    const verification = { host, wallet, from, until: from + verificationDays * dayMs }
    await rewards.verify(verification)
    return { ...verification, isRevoked: false }
  }

  return {
    current,
    all: async () => {
      const [all, now] = [await rewards.verifications(), clock.now()]
      const hosts = [...new Set(all.map(({ host }) => host))]
      return hosts.flatMap((host) => {
        const own = all.filter((one) => one.host === host)
        return findVerification(own, now) ?? []
      })
    },
    assign: (host, wallet) => alone(host, () => write(host, wallet)),
    prolong: (host, wallet) =>
      alone(host, async () => {
        if ((await current(host))?.wallet !== wallet) return false
        await write(host, wallet)
        return true
      }),
    end: (host, wallet) =>
      alone(host, async () => (await current(host))?.wallet === wallet && (await rewards.revoke(host, clock.now()))),
  }
}
