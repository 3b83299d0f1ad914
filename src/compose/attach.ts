/** Work that goes on beside a service, from the moment on at which the service has started. */
import type { ServiceHandle } from '../paywall/paywall.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'

export interface Attached {
  stop(): Promise<void>
}

export interface Attachment extends Attached {
  /** Resolves when it was tried for the first time, whatever came of it. */
  readonly tried: Promise<void>
}

/** A service that cannot start yet is asked again after so long; work that cannot begin is begun again after longer. */
const patienceMs = 1_000
const restMs = 30_000

/** `begin` may answer undefined where there is nothing to do. What it throws is logged, under a name that says what waits. */
export function attach(
  handle: Pick<ServiceHandle, 'get'>,
  begin: (service: Runtime) => Promise<Attached | undefined> | Attached | undefined,
  name = 'cannot begin',
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
  // Work begins as soon as the service is there, before requests that wait for it. Why it does not start, it tells itself.
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
