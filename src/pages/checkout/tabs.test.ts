import { afterEach, expect, it, vi } from 'vitest'
import { joinTabs, type Tabs } from './tabs.ts'

// A run of the tabs ends when every message has been heard and every wait is over: virtual time counts the waits.
class Channel extends EventTarget {
  readonly name: string
  constructor(name: string) {
    super()
    this.name = name
    channels.push(this)
  }
  postMessage(data: unknown): void {
    for (const other of channels)
      if (other !== this && other.name === this.name)
        setTimeout(() => other.dispatchEvent(new MessageEvent('message', { data })), delay())
  }
}
let channels: Channel[] = []
let delay = (): number => 1

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  channels = []
  delay = () => 1
})

function open(ranks: readonly number[]): Tabs[] {
  vi.useFakeTimers()
  vi.stubGlobal('BroadcastChannel', Channel)
  const chance = vi.spyOn(Math, 'random')
  return ranks.map((rank) => {
    chance.mockReturnValueOnce(rank)
    return joinTabs('request')
  })
}

/** Which tabs open the resource, where each asks at its time. */
async function opened(tabs: readonly Tabs[], times: readonly number[]): Promise<readonly number[]> {
  const answers: number[] = []
  tabs.forEach((tab, index) => {
    setTimeout(() => void tab.mayOpen('tx').then((may) => may && answers.push(index)), times[index])
  })
  // Longer than any message and wait takes.
  await vi.advanceTimersByTimeAsync(2_000)
  return answers
}

it('the tab with the higher rank opens it where two ask at the same time', async () => {
  expect(await opened(open([0.2, 0.7]), [0, 0])).toEqual([1])
})

it('the tab that asked first opens it where the other heard of that before it asked itself', async () => {
  expect(await opened(open([0.2, 0.7]), [0, 20])).toEqual([0])
})

it('the tab that paid opens it, also where another tab asks first', async () => {
  const tabs = open([0.9, 0.1])
  tabs[1]?.sent('tx')
  expect(await opened(tabs, [0, 20])).toEqual([1])
})

it('one tab opens it without a channel', async () => {
  vi.stubGlobal('BroadcastChannel', undefined)
  Reflect.deleteProperty(globalThis, 'BroadcastChannel')
  expect(await joinTabs('request').mayOpen('tx')).toBe(true)
})

it('exactly one of several tabs opens it, in every order of ranks, questions and messages', async () => {
  let seed = 1
  const next = (most: number): number => {
    seed = (seed * 48271) % 2147483647
    return seed % most
  }
  for (let round = 0; round < 300; round++) {
    channels = []
    const tabs = open(Array.from({ length: 2 + next(3) }, () => next(1_000) / 1_000 + next(1_000) / 1e7))
    delay = () => 1 + next(20)
    // Some ask at about the same time, others after a tab has opened it.
    const times = tabs.map(() => next(next(2) === 0 ? 120 : 600))
    expect(await opened(tabs, times), `round ${round}: ${times}`).toHaveLength(1)
  }
})
