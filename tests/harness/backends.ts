/**
 * Several nodes behind one address, as every hosted provider has them: each is some slots behind the chain, and answers
 * some of the questions. A transaction that is sent lands at once, late or never.
 */
import type { Faults } from '../../src/localnet/index.ts'

export interface Backends {
  /** How far behind the node is that answers this question. */
  readonly lagOf: (method: string) => number
  /** After how many slots a transaction that is sent lands; undefined loses it. */
  readonly landing: () => number | undefined
}

const methods = [
  'getAccountInfo',
  'getBlockHeight',
  'getLatestBlockhash',
  'getMultipleAccounts',
  'getSignatureStatuses',
  'getSlot',
  'getTransaction',
  'isBlockhashValid',
  'simulateTransaction',
]

export function placeBackends(faults: Faults, { lagOf, landing }: Backends): void {
  const rules = methods.map((method) => ({
    methods: [method],
    get lagSlots() {
      return lagOf(method)
    },
  }))
  const sending = {
    methods: ['sendTransaction'],
    get lose() {
      return landing() === undefined
    },
    get delaySlots() {
      return landing() ?? 0
    },
  }
  faults.set([...rules, sending])
}

/** Any of them answers. */
export function atRandom(lags: readonly number[], random: () => number): Backends['lagOf'] {
  return () => lags[Math.floor(random() * lags.length)] ?? 0
}

/** A method is always answered by the same one. */
export function byMethod(lags: readonly number[], random: () => number): Backends['lagOf'] {
  const any = atRandom(lags, random)
  const homes = new Map(methods.map((method) => [method, any(method)]))
  return (method) => homes.get(method) ?? 0
}

/** Numbers between 0 and 1 that are the same for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed + 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
