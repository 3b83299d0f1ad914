/** One of the processes of a gateway: its view of the others, through the channel to the supervisor. */
import { setNewest } from '../../core/collections/bounded-map.ts'
import type { Limits } from '../../core/collections/limits.ts'
import { joinMetrics, keepCounters, type Meter, type MetricsDump } from '../../core/observability/metrics.ts'
import type { Processes, WatchNotice } from '../../core/ports/processes.ts'
import type { Channel } from './channel.ts'
import { answers, type toSupervisor } from './messages.ts'

export type SupervisorChannel = Channel<typeof toSupervisor>

export interface Member extends Processes {
  /** Called by the supervisor's messages. */
  lead(): void
  take(service: string, notice: WatchNotice): void
  dump(): MetricsDump
}

export function createMember(channel: SupervisorChannel): Member {
  const listeners = new Map<string, Set<(notice: WatchNotice) => void>>()
  const waiting = new Set<() => void>()
  const meters = new Set<Pick<Meter, 'dump'>>()
  let past: readonly MetricsDump[] = []
  let isLeading = false
  return {
    limits: createSharedLimits(channel),
    watchOf: (service) => ({
      publish: (notice) => channel.tell('notice', { service, notice }),
      subscribe: (take) => {
        const all = listeners.get(service) ?? new Set()
        listeners.set(service, all)
        all.add(take)
        return () => void all.delete(take)
      },
      onceLeading: (begin) => {
        if (isLeading) begin()
        else waiting.add(begin)
        return () => void waiting.delete(begin)
      },
    }),
    leads: () => isLeading,
    addMeter: (meter) => {
      meters.add(meter)
      return () => {
        if (meters.delete(meter)) past = [joinMetrics([...past, keepCounters(meter.dump())])]
      }
    },
    prepareRecipient: async (recipient) => void (await channel.ask('prepareRecipient', { recipient }).catch(() => {})),
    readMetrics: async () => answers.dump.parse(await channel.ask('metrics', undefined)),
    lead: () => {
      isLeading = true
      for (const begin of waiting) begin()
      waiting.clear()
    },
    take: (service, notice) => {
      for (const listener of listeners.get(service) ?? []) listener(notice)
    },
    dump: () => joinMetrics([...past, ...[...meters].map((meter) => meter.dump())]),
  }
}

const mostRemembered = 10_000

/** The limits that the supervisor keeps. Without an answer, they admit nothing. */
function createSharedLimits(channel: SupervisorChannel): Limits {
  /** The last period in which a client had used its quota, so that its next 402 needs no message. */
  const used = new Map<string, number>()
  return {
    enter: async (order) => {
      const entry = await channel
        .ask('enter', { ...order, buckets: [...order.buckets] })
        .then(answers.entry.parse, () => undefined)
      if (entry?.kind !== 'in') return { kind: 'later', seconds: entry?.seconds ?? 1 }
      return { kind: 'in', isFull: entry.isFull, leave: (cost) => channel.tell('leave', { visit: entry.visit, cost }) }
    },
    admitFree: (order) => {
      const { quota, address, period } = order
      const client = `${address} ${quota}`
      if (used.get(client) === period) return false
      return channel.ask('free', order).then(
        (answer) => {
          const isFree = answers.free.parse(answer)
          if (!isFree) setNewest(used, client, period, mostRemembered)
          return isFree
        },
        () => false,
      )
    },
  }
}
