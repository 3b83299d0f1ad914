/**
 * Time, chance and processes under a seed. Nothing here waits for the real clock, and what happens depends on the seed
 * alone: the same seed is the same story.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** Something that can be killed or stopped for a while. Timers belong to the process that set them. */
export interface Process {
  readonly name: string
  readonly alive: boolean
  /** Resolves when it is killed. */
  readonly death: Promise<void>
  pausedUntil: number
  kill(): void
}

export function createProcess(name: string): Process {
  let alive = true
  let die = () => {}
  const death = new Promise<void>((resolve) => {
    die = resolve
  })
  return {
    name,
    get alive() {
      return alive
    },
    death,
    pausedUntil: 0,
    kill: () => {
      alive = false
      die()
    },
  }
}

export interface Schedule {
  now(): number
  /** From 0 to 1. */
  random(): number
  chance(probability: number): boolean
  between(low: number, high: number): number
  sleep(ms: number): Promise<void>
  /** Runs work as part of a process. */
  as<T>(process: Process, work: () => T): T
  /** What the global timers do while the story lasts. */
  readonly timers: { setTimeout: typeof setTimeout; clearTimeout: typeof clearTimeout }
  /** Lets time pass until nothing is left to happen, or the given time is reached. */
  run(until: number): Promise<void>
}

interface Event {
  readonly at: number
  readonly order: number
  readonly owner: Process | undefined
  readonly work: () => void
}

const breathe = setImmediate
/** One for all stories: every promise carries along every such storage there is. */
const current = new AsyncLocalStorage<Process>()

export function createSchedule(seed: number): Schedule {
  const cancelled = new Set<number>()
  /** In the order in which they will happen. */
  const events: Event[] = []
  let [now, orders, state] = [0, 0, seed >>> 0]

  const random = (): number => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const add = (at: number, owner: Process | undefined, work: () => void): number => {
    orders += 1
    const event = { at, order: orders, owner, work }
    const later = events.findLastIndex((other) => !isBefore(event, other))
    events.splice(later + 1, 0, event)
    return orders
  }
  const takeNext = (until: number): Event | undefined => {
    return events[0] && events[0].at <= until ? events.shift() : undefined
  }
  const happen = ({ at, order, owner, work }: Event): void => {
    if (cancelled.delete(order) || owner?.alive === false) return
    if (owner && owner.pausedUntil > at) add(owner.pausedUntil, owner, work)
    else if (owner) current.run(owner, work)
    else work()
  }

  return {
    now: () => now,
    random,
    chance: (probability) => random() < probability,
    between: (low, high) => Math.round(low + random() * (high - low)),
    sleep: (ms) => new Promise((resolve) => void add(now + ms, current.getStore(), resolve)),
    as: (process, work) => current.run(process, work),
    timers: {
      setTimeout: ((work: () => void, ms = 0) => {
        const order = add(now + ms, current.getStore(), work)
        return { order, unref: () => {} }
      }) as unknown as typeof setTimeout,
      clearTimeout: ((timer?: { readonly order: number }) => {
        if (timer) cancelled.add(timer.order)
      }) as typeof clearTimeout,
    },
    run: async (until) => {
      for (let event = takeNext(until); event; event = takeNext(until)) {
        now = Math.max(now, event.at)
        happen(event)
        // Everything that follows from it at once.
        await new Promise((resolve) => breathe(resolve))
      }
      now = Math.max(now, until)
    },
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at === other.at ? one.order < other.order : one.at < other.at
}
