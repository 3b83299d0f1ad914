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

/** Each time it is looked at, it is another. */
const badWeather = {
  get drop() {
    return isSo(0.03)
  },
  get status() {
    return isSo(0.03) ? 429 : undefined
  },
  get latencyMs() {
    return isSo(0.05) ? upTo(400) : 0
  },
  get lagSlots() {
    return isSo(0.15) ? upTo(64) : 0
  },
  get lose() {
    return isSo(0.25)
  },
  // Some of them wait until their block is too old.
  get delaySlots() {
    return isSo(0.4) ? upTo(170) : 0
  },
}

/** What was asked is done, and nobody hears of it, or hears that it was not. */
async function interrupt(_method, _params, answer) {
  if (isSo(0.01)) await pause(tooLateMs)
  if (isSo(0.02)) return { error: { code: -32005, message: 'Node is unhealthy' } }
  return answer
}

let storms
let forks = 0
function turn(isBad) {
  clearInterval(storms)
  localnet.faults.clear()
  if (!isBad) return
  localnet.faults.set([badWeather])
  localnet.faults.intercept(interrupt)
  storms = setInterval(() => {
    if (!isSo(0.3)) return
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
