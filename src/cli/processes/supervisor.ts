/**
 * Runs the processes of a gateway, which share one port. The supervisor serves no request itself: it replaces a process
 * that ended, keeps the limits of the whole, names the process that leads, and reloads all processes together.
 */
import { createLimits } from '../../core/collections/limits.ts'
import { joinMetrics, keepCounters, type MetricsDump } from '../../core/observability/metrics.ts'
import type { Log } from '../../core/runtime.ts'
import type { Settings } from './messages.ts'
import { createReplacements } from './replacements.ts'
import { type ProcessHandlers, type RunningProcess, startProcess, updateDump } from './running-process.ts'

export interface SupervisorParts extends Pick<ProcessHandlers, 'readiness' | 'prepareRecipient'> {
  readonly count: number
  readonly settings: Settings
  /** Reads the configuration again. Throws if it is wrong. `undo` is called if a process refuses it. */
  readonly readSettings: () => Promise<{ readonly settings: Settings; undo(): void }>
  readonly log: Log
}

interface State {
  readonly all: Set<RunningProcess>
  settings: Settings
  leader: RunningProcess | undefined
  isStopping: boolean
  /** The counters of processes that ended. */
  past: readonly MetricsDump[]
  /** A process that starts during a reload waits for its outcome. */
  reloading: Promise<unknown>
}

const metricsMs = 1_000

export function createSupervisor(parts: SupervisorParts) {
  const { count, log } = parts
  const limits = createLimits({ monotonic: () => performance.now() })
  const state: State = {
    ...{ all: new Set(), settings: parts.settings, leader: undefined, isStopping: false, past: [] },
    reloading: Promise.resolve(),
  }
  const { all } = state
  /** Reloads and restarts run one at a time. */
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = last.then(() => startsEnded(state)).then(work)
    last = done.catch(() => {})
    return done
  }
  /** Replaces the configuration of all processes, or rejects with the reason and changes none. */
  const reload = (): Promise<void> =>
    inTurn(async () => {
      const { settings, undo } = await parts.readSettings()
      const done = reloadAll(state, settings)
      state.reloading = done.catch(undo)
      await done
    })
  const countServing = () => listServing(state).length
  const replacements = createReplacements({ all, count, countServing, log, start: () => start() })
  const handlers: ProcessHandlers = {
    ...{ readiness: parts.readiness, prepareRecipient: parts.prepareRecipient, reload },
    hello: async () => {
      await state.reloading
      return state.settings
    },
    serving: () => {
      replacements.noteService()
      appoint(state)
    },
    // Only the leading process reads payments for the others.
    notice: (from, notice) => {
      if (from !== state.leader) log.warn('process.message_dropped', { why: 'the process does not lead' })
      else for (const other of all) if (other !== from) other.channel.tell('notice', notice)
    },
    metrics: async () => {
      await Promise.all([...all].map((one) => updateDump(one, metricsMs)))
      const { values, histograms } = joinMetrics([...state.past, ...[...all].flatMap(({ dump }) => dump ?? [])])
      const leading = new Map([['', state.leader?.worker.process.pid ?? 0]])
      return { values: values.set('paystile_leading_pid', leading), histograms }
    },
    exit: (running, how) => {
      all.delete(running)
      if (running.dump) state.past = [joinMetrics([...state.past, keepCounters(running.dump)])]
      appoint(state)
      if (!running.isLeaving && !state.isStopping) replacements.replace(running, how)
    },
  }
  const start = (): RunningProcess => {
    const running = startProcess({ handlers, limits, log })
    all.add(running)
    return running
  }
  // With a second signal the command ends at once, and its processes too.
  process.once('exit', () => {
    for (const { worker } of all) worker.process.kill('SIGKILL')
  })
  return {
    /** Resolves with the address when all processes serve. Rejects if they cannot start. */
    start: async (): Promise<string> => {
      for (let index = 0; index < count; index += 1) start()
      await Promise.race([replacements.failed, replacements.complete])
      return listServing(state)[0]?.url ?? ''
    },
    /** Rejects when the processes cannot go on. */
    failed: replacements.failed,
    reload,
    /** Replaces the processes one after the other. Each is stopped when its successor serves. */
    restart: () =>
      inTurn(async () => {
        for (const one of listServing(state)) {
          const successor = start()
          await successor.started
          if (!successor.isServing) throw new Error('a new process could not start; the others continue')
          await leave(state, one)
        }
      }),
    /** Stops all processes after their running responses. */
    stop: async () => {
      state.isStopping = true
      replacements.stop()
      await Promise.all([...all].map((one) => leave(state, one)))
    },
  }
}

function listServing({ all }: State): readonly RunningProcess[] {
  return [...all].filter(({ isServing, isLeaving }) => isServing && !isLeaving)
}

/** Names a process that leads, if none does. */
function appoint(state: State): void {
  const { leader, all } = state
  if (leader && all.has(leader) && !leader.isLeaving) return
  state.leader = listServing(state)[0]
  state.leader?.channel.tell('lead', undefined)
}

async function leave(state: State, running: RunningProcess): Promise<void> {
  running.isLeaving = true
  appoint(state)
  running.channel.tell('stop', undefined)
  await running.ended
}

/** Resolves when no process is starting. */
async function startsEnded(state: State): Promise<void> {
  const starting = [...state.all].filter(({ isServing }) => !isServing)
  if (starting.length === 0) return
  await Promise.all(starting.map(({ started }) => started))
  await startsEnded(state)
}

/** All processes open the configuration before the first one uses it. */
async function reloadAll(state: State, next: Settings): Promise<void> {
  const serving = listServing(state)
  const outcomes = await Promise.allSettled(serving.map(({ channel }) => channel.ask('prepare', next)))
  // A process that ended meanwhile is replaced, by the configuration that counts then.
  const refused = outcomes.find((outcome, index) => outcome.status === 'rejected' && isIn(state, serving[index]))
  if (refused?.status === 'rejected') {
    for (const { channel } of serving) channel.tell('abort', undefined)
    throw refused.reason
  }
  state.settings = next
  await Promise.allSettled(serving.map(({ channel }) => channel.ask('commit', undefined)))
}

function isIn({ all }: State, running: RunningProcess | undefined): boolean {
  return running !== undefined && all.has(running)
}
