/** Runs work beside a service, from the start of the service. */
import type { ServiceHandle } from '../paywall/paywall.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'

export interface Attached {
  stop(): Promise<void>
}

export interface Attachment extends Attached {
  /** Resolves after the first attempt, successful or not. */
  readonly tried: Promise<void>
}

/** A service that cannot start is retried after `patienceMs`, work that cannot begin after `restMs`. */
const patienceMs = 1_000
const restMs = 30_000

/**
 * `begin` may return undefined if there is nothing to do. Its errors are logged under a name that states the pending
 * work.
 */
export function attach(
  handle: Pick<ServiceHandle, 'get'>,
  begin: (service: Runtime) => Promise<Attached | undefined> | Attached | undefined,
  name = 'worker.start_failed',
): Attachment {
  let isStopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let attached: Promise<Attached | undefined> = Promise.resolve(undefined)
  const later = (ms: number): undefined => {
    timer = setTimeout(() => {
      if (!isStopped) attached = attempt()
    }, ms)
    timer.unref?.()
  }
  // Work begins as soon as the service starts, before the requests that wait for it. The service itself reports a
  // failed start.
  const attempt = (): Promise<Attached | undefined> =>
    Promise.resolve(handle.get()).then(start, () => later(patienceMs))
  const start = async (service: Runtime): Promise<Attached | undefined> => {
    if (isStopped) return undefined
    try {
      return await begin(service)
    } catch (error) {
      service.log.error(name, { why: error instanceof Error ? error.message : String(error) })
      return later(restMs)
    }
  }
  attached = attempt()
  const first = attached
  return {
    tried: first.then(() => {}),
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await (await attached)?.stop()
    },
  }
}

const restartPauseMs = 1_000

/** A service that starts only after its preparation. Until then requests get the reason. `prepare` returns its end. */
export function withPreparation(
  handle: ServiceHandle,
  prepare: (service: Runtime) => Promise<() => Promise<void>>,
): ServiceHandle {
  let current: Runtime | undefined
  let opening: Promise<Runtime> | undefined
  let release: () => Promise<void> = async () => {}
  let isReleased = false
  const open = async (): Promise<Runtime> => {
    const service = await handle.get()
    const end = await prepare(service)
    if (isReleased) await end()
    else release = end
    current = service
    return service
  }
  return {
    get: () => {
      if (current) return current
      opening ??= open().catch((error: unknown) => {
        setTimeout(() => {
          opening = undefined
        }, restartPauseMs).unref()
        throw error
      })
      return opening
    },
    release: async () => {
      isReleased = true
      await opening?.catch(() => {})
      await release()
      await handle.release()
    },
  }
}
