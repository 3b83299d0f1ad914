// The chain of the payouts' torture in a process of its own, behind a node that does everything nodes do to those who send:
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

/** Whether all that is sent is lost, for longer than it could land. */
let isDark = false
const [lightMs, darkMs] = [4_000, 250 * slotMs]

/** Each time it is looked at, it is another. */
const badWeather = {
  get drop() {
    return isSo(0.015)
  },
  get status() {
    return isSo(0.015) ? 429 : undefined
  },
  get latencyMs() {
    return isSo(0.05) ? upTo(300) : 0
  },
  get lagSlots() {
    return isSo(0.12) ? upTo(64) : 0
  },
  get lose() {
    return isDark || isSo(0.3)
  },
  // Some of them wait until their block is too old, or nearly so.
  get delaySlots() {
    return isSo(0.3) ? upTo(170) : 0
  },
}

/** What was asked is done, and nobody hears of it, or hears that it was not. */
async function interrupt(_method, _params, answer) {
  if (isSo(0.005)) await pause(tooLateMs)
  if (isSo(0.01)) return { error: { code: -32005, message: 'Node is unhealthy' } }
  return answer
}

let [storms, nights] = []
let forks = 0
function turn(isBad) {
  clearInterval(storms)
  clearTimeout(nights)
  localnet.faults.clear()
  if (!isBad) return
  const change = (next) => {
    isDark = next
    nights = setTimeout(() => change(!next), next ? darkMs : lightMs)
  }
  change(false)
  localnet.faults.set([badWeather])
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

process.send({ rpcUrl, mints })
process.on('message', async ({ fund, isBad, pass }) => {
  if (fund) {
    const amounts = Object.entries(fund.amounts).map(([token, units]) => [token, BigInt(units)])
    await localnet.fund(fund.address, Object.fromEntries(amounts))
  }
  if (isBad !== undefined) turn(isBad)
  // Hours pass, and one slot.
  if (pass !== undefined) localnet.advance(pass, 1)
  process.send({ forks })
})
process.once('disconnect', () => process.exit(0))
