/** A process of a gateway, as its supervisor sees it. */
import cluster, { type Worker } from 'node:cluster'
import { setNewest } from '../../core/collections/bounded-map.ts'
import type { LimitOrder, LimitVisit, LocalLimits } from '../../core/collections/limits.ts'
import type { MetricsDump } from '../../core/observability/metrics.ts'
import type { Log } from '../../core/runtime.ts'
import { CommandError, exitCodes } from '../output.ts'
import { type Channel, createChannel, type Handlers } from './channel.ts'
import { answers, type toProcess, toSupervisor } from './messages.ts'

export interface RunningProcess {
  readonly worker: Worker
  readonly channel: Channel<typeof toProcess>
  readonly startedAt: number
  /** Resolves when the process serves, or has ended. */
  readonly started: Promise<void>
  readonly ended: Promise<void>
  isServing: boolean
  isLeaving: boolean
  url: string | undefined
  /** The reason why it cannot start. */
  failure: CommandError | undefined
  /** Its last known metrics. */
  dump: MetricsDump | undefined
}

type Own = 'serving' | 'failed' | 'enter' | 'leave' | 'free' | 'notice' | 'ended'

/** The messages that concern the other processes, too. */
export interface ProcessHandlers extends Omit<Handlers<typeof toSupervisor>, Own> {
  serving(): void
  notice(from: RunningProcess, notice: Parameters<Handlers<typeof toSupervisor>['notice']>[0]): void
  /** `how`: the signal or the code that it ended with. */
  exit(running: RunningProcess, how: string): void
}

export interface ProcessParts {
  readonly handlers: ProcessHandlers
  readonly limits: LocalLimits
  readonly log: Log
}

/** The variable that tells a process of its supervisor. */
const parentName = 'PAYSTILE_SUPERVISOR'

/** Whether `startProcess` started this process. */
export function isSupervised(): boolean {
  return process.env[parentName] === String(process.ppid)
}

export function startProcess({ handlers, limits, log }: ProcessParts): RunningProcess {
  const worker = cluster.fork({ [parentName]: String(process.pid) })
  const closeOrphans = followConnections(worker)
  const visits = createVisits(limits)
  const [served, ended] = [createSignal(), createSignal()]
  const channel = createChannel<typeof toProcess, typeof toSupervisor>({
    send: (message) => void (worker.isConnected() && worker.send(message as object)),
    kinds: toSupervisor,
    handlers: {
      ...handlers,
      serving: ({ url }) => {
        Object.assign(running, { isServing: true, url })
        handlers.serving()
        served.fire()
      },
      failed: ({ code, message, exitCode }) => {
        running.failure = new CommandError(exitCode === exitCodes.usage ? 'usage' : 'failure', code, message)
      },
      enter: visits.enter,
      leave: visits.leave,
      free: limits.admitFree,
      notice: (notice) => handlers.notice(running, notice),
      ended: (dump) => {
        running.dump = dump
      },
    },
    onInvalid: (why) => log.warn('process.message_dropped', { why }),
  })
  const running: RunningProcess = {
    ...{ worker, channel, startedAt: performance.now(), ended: ended.fired },
    started: Promise.race([served.fired, ended.fired]),
    ...{ isServing: false, isLeaving: false, url: undefined, failure: undefined, dump: undefined },
  }
  worker.on('message', channel.receive)
  // Sending to a process that has just ended fails.
  worker.on('error', () => {})
  worker.once('exit', (code, signal) => {
    closeOrphans()
    channel.close()
    visits.release()
    handlers.exit(running, signal ?? `code ${code}`)
    ended.fire()
  })
  return running
}

function createSignal(): { readonly fired: Promise<void>; fire(): void } {
  let fire: () => void = () => {}
  const fired = new Promise<void>((resolve) => {
    fire = resolve
  })
  return { fired, fire }
}

/** Reads the metrics of a process. A process that does not answer in time keeps its last known ones. */
export function updateDump(running: RunningProcess, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    const take = (told: unknown): void => {
      const read = answers.dump.safeParse(told)
      if (read.success) running.dump = read.data
      clearTimeout(timer)
      resolve()
    }
    running.channel.ask('dump', undefined).then(take, take)
  })
}

interface ConnectionHandle {
  close(...args: unknown[]): unknown
}

/**
 * Follows the connections that Node passes to a process until the process accepts them. Node forgets those of a process
 * that dies before, and their clients would wait in vain. The returned function closes them. It depends on the name of
 * an internal message. If a version of Node uses another one, this function closes nothing.
 */
function followConnections({ process: child }: Worker): () => void {
  const passed = new Set<ConnectionHandle>()
  const send = child.send as (...args: readonly unknown[]) => boolean
  const follow = (message: { readonly act?: unknown } | undefined, handle: ConnectionHandle | undefined): void => {
    if (message?.act !== 'newconn' || typeof handle?.close !== 'function') return
    const { close } = handle
    passed.add(handle)
    handle.close = (...args) => {
      passed.delete(handle)
      return close.apply(handle, args)
    }
  }
  Object.assign(child, {
    send: (...args: readonly unknown[]) => {
      follow(args[0] as Parameters<typeof follow>[0], args[1] as Parameters<typeof follow>[1])
      return send.apply(child, [...args])
    },
  })
  return () => {
    for (const handle of passed) handle.close()
  }
}

/** Costs that were taken at once and may be given back. Older ones stay taken. */
const mostTaken = 1_000

/** The visits of one process. They end with it. */
function createVisits({ enter }: LocalLimits) {
  const waiting = new Map<number, LimitVisit>()
  const taken = new Map<string, LimitVisit>()
  let visits = 0
  return {
    enter: (order: LimitOrder) => {
      const entry = enter(order)
      if (entry.kind === 'later') return entry
      visits += 1
      if (order.mostAtOnce !== undefined) waiting.set(visits, entry)
      else setNewest(taken, `${visits}`, entry, mostTaken)
      return { kind: 'in', isFull: entry.isFull, visit: visits }
    },
    leave: ({ visit, cost }: { readonly visit: number; readonly cost: 0 | 1 }) => {
      const entry = waiting.get(visit) ?? taken.get(`${visit}`)
      waiting.delete(visit)
      taken.delete(`${visit}`)
      entry?.leave(cost)
    },
    release: () => {
      for (const entry of waiting.values()) entry.leave(0)
    },
  }
}
