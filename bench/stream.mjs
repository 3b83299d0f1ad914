// How long after its verification a payment is told, and what telling it costs: to a thousand who listen, beside one.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { median, round, row } from './statistics.mjs'

const crowds = [1, 1_000]
const events = 60
const warmUp = 10
/** Never reads, and is there as well: it must slow nobody. */
const idlers = 5

export async function benchStream({ say }) {
  const [one, many] = [await measure(crowds[0]), await measure(crowds[1])]
  const ratio = (of) => many[of].map((value, index) => value / one[of][index])
  const rows = [
    row('stream/tell-delay', 'ms to the last of 1,000 who listen, to one', many.delays, one.delays, ratio('delays')),
    row('stream/tell-cpu', 'CPU ms per payment told to 1,000, to one', many.costs, one.costs, ratio('costs')),
  ]
  const [most, usual] = [Math.max(...many.delays), median(many.delays)]
  say(`stream/tell: to the last of 1,000 in ${round(usual)} ms (at worst ${round(most)}), ${rows[1].value} CPU ms each`)
  return rows
}

async function measure(crowd) {
  const child = fork(fileURLToPath(new URL('./stream-server.mjs', import.meta.url)), { stdio: ['ignore', 2, 2, 'ipc'] })
  const [{ url }] = await once(child, 'message')
  const heard = { count: 0, done: () => {} }
  const sockets = await Promise.all([
    ...Array.from({ length: crowd }, () => listen(url, () => ++heard.count === crowd && heard.done())),
    ...Array.from({ length: idlers }, () => listen(url)),
  ])
  const ask = async (order) => {
    child.send(order)
    return (await once(child, 'message'))[0]
  }
  const cpuOf = async () => {
    const { cpu } = await ask('cpu')
    return (cpu.user + cpu.system) / 1000
  }
  const [delays, costs] = [[], []]
  for (let turn = -warmUp; turn < events; turn += 1) {
    heard.count = 0
    const all = new Promise((resolve) => {
      heard.done = () => resolve(performance.timeOrigin + performance.now())
    })
    const before = await cpuOf()
    const { at } = await ask('pay')
    const last = await all
    const after = await cpuOf()
    if (turn < 0) continue
    delays.push(last - at)
    costs.push(after - before)
  }
  for (const socket of sockets) socket.destroy()
  child.disconnect()
  return { delays, costs }
}

/** Calls back for each payment; who wants none never reads. */
function listen(url, onPayment) {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      response.on('error', () => {})
      if (!onPayment) return resolve(response.socket)
      response.once('data', () => resolve(response.socket))
      response.on('data', (bytes) => {
        for (let at = bytes.indexOf('event: payment'); at >= 0; at = bytes.indexOf('event: payment', at + 1))
          onPayment()
      })
    })
    request.on('error', reject)
  })
}
