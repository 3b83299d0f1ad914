// The chain of the torture in a process of its own. When it is told to be bad, its node does everything nodes do to those who send:
// it takes a transaction and does not say so, loses it, lets it wait, answers from the past, resets, refuses, is slow, and
// its chain drops forks. It tells no lies. `hostile.mjs <slotMs>`, then messages.
import { startLocalnet } from '../../dist/localnet/index.js'

const slotMs = Number(process.argv[2])
const localnet = await startLocalnet({ slotMs })
const { rpcUrl, mints } = localnet

const isSo = (probability) => Math.random() < probability
const upTo = (most) => Math.floor(Math.random() * (most + 1))
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
/** Longer than anybody waits for an answer. */
const tooLateMs = 2_500

/** Whether all that is sent is lost: about as long as it takes until nothing of it can land any more. */
let isDark = false

/** Each time it is looked at, it is another. */
const badWeather = {
  get drop() {
    return isSo(0.01)
  },
  get status() {
    return isSo(0.01) ? 429 : undefined
  },
  get latencyMs() {
    return isSo(0.03) ? upTo(200) : 0
  },
  get lose() {
    return isDark || isSo(0.3)
  },
  // Some of them wait until their block is too old, or nearly so.
  get delaySlots() {
    return isSo(0.3) ? upTo(170) : 0
  },
}

/** Behind the address stand nodes that are behind: a question goes to one of them for a while, and now and then to any. */
const lags = [0, 0, 40 + upTo(210), 40 + upTo(210)]
const anyLag = () => lags[upTo(lags.length - 1)] ?? 0
const readers = ['getSignatureStatuses', 'isBlockhashValid', 'getBlockHeight', 'getSlot', 'getLatestBlockhash'].map(
  (method) => {
    let [own, until] = [0, 0]
    return {
      methods: [method],
      get lagSlots() {
        if (Date.now() > until) [own, until] = [anyLag(), Date.now() + slotMs * upTo(400)]
        const lag = isSo(0.1) ? anyLag() : own
        // A block that is too old to build on stops everything.
        return method === 'getLatestBlockhash' ? Math.min(lag, 60) : lag
      },
    }
  },
)

/** What was asked is done, and nobody hears of it, or hears that it was not: of those who send more than of others. */
async function interrupt(method, _params, answer) {
  const often = method === 'sendTransaction' ? 1 : 0.02
  if (isSo(0.1 * often)) await pause(tooLateMs)
  if (isSo(0.1 * often)) return { error: { code: -32005, message: 'Node is unhealthy' } }
  return answer
}

/** @type {NodeJS.Timeout | undefined} */
let storms
/** @type {NodeJS.Timeout | undefined} */
let nights
let forks = 0
function turn(isBad) {
  clearInterval(storms)
  clearTimeout(nights)
  localnet.faults.clear()
  if (!isBad) return
  const change = (next) => {
    isDark = next
    // Most of the time it is light: else the last purchases wait for minutes.
    nights = setTimeout(() => change(!next), slotMs * (150 + upTo(100)) * (isDark ? 1 : 3))
  }
  change(false)
  localnet.faults.set([/** @type {import('../../dist/localnet/index.js').FaultRule} */ (badWeather), ...readers])
  localnet.faults.intercept(interrupt)
  storms = setInterval(() => {
    if (!isSo(0.2)) return
    try {
      localnet.rollback(1 + upTo(25))
      forks += 1
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
    }
  }, 500)
}

/** A node that only lets some transactions wait, up to seconds. */
const slowWeather = {
  methods: ['sendTransaction'],
  get delaySlots() {
    return isSo(0.3) ? upTo(20) : 0
  },
}

process.send?.({ rpcUrl, mints })
process.on('message', async ({ fund, isBad, isSlow, pass, slots = 1 }) => {
  if (fund) {
    const amounts = Object.entries(fund.amounts).map(([token, units]) => [token, BigInt(units)])
    await localnet.fund(fund.address, Object.fromEntries(amounts))
  }
  if (isBad !== undefined) turn(isBad)
  if (isSlow !== undefined) localnet.faults.set(isSlow ? [slowWeather] : [])
  // Seconds to hours pass, and one slot or more.
  if (pass !== undefined) localnet.advance(pass, slots)
  process.send?.({ forks })
})
process.once('disconnect', () => process.exit(0))
