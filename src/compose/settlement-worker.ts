/** Converts for servers that have no key: what routes would convert themselves, without the routes. */
import type { Config } from '../paywall/config/config.ts'
import { openHandle, openLog } from './paywall.ts'
import { nameConversionWorker, withSettlement } from './settlement/settlement.ts'

export interface ConversionWorker {
  /** Whose money is converted. */
  readonly wallets: readonly string[]
  close(): Promise<void>
}

const patienceMs = 2_000

/** Begins as soon as the service can start, and tries again until then. Routes without a key are left to others. */
export function openConversionWorker(configs: readonly Config[]): ConversionWorker {
  const own = new Map(
    configs.flatMap((config) => {
      const { conversion } = config.route
      return conversion?.key === undefined ? [] : [[nameConversionWorker(config.route, conversion), config] as const]
    }),
  )
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const handles = [...own.values()].map(({ service, route, log }) => {
    const told = openLog(log)
    const handle = withSettlement(openHandle(service, told), route, told)
    const attempt = async (): Promise<void> => {
      try {
        await handle.get()
      } catch {
        // Why it does not start is told by the service itself.
        const timer = setTimeout(() => {
          timers.delete(timer)
          void attempt()
        }, patienceMs)
        timers.add(timer)
      }
    }
    void attempt()
    return handle
  })
  return {
    wallets: [...new Set([...own.values()].map(({ route }) => route.recipient))],
    close: async () => {
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(handles.map((handle) => handle.release()))
    },
  }
}
