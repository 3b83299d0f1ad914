/** Converts for servers without a key: the conversions of their routes, without the routes. */
import type { Config } from '../paywall/config/config.ts'
import { openHandle, openLog } from './paywall.ts'
import { nameConversionWorker, withSettlement } from './settlement/settlement.ts'

const patienceMs = 2_000

/** Starts as soon as the service can start, and retries until then. Routes without a key are skipped. */
export function openConversionWorker(configs: readonly Config[]) {
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
        // The service itself reports a failed start.
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
    /** The wallets with funds to convert. */
    wallets: [...new Set([...own.values()].map(({ route }) => route.recipient))],
    close: async () => {
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(handles.map((handle) => handle.release()))
    },
  }
}
