// The delay between a payment's verification and its announcement to many listeners, and the CPU time of that, beside
// one listener.
import { get } from 'node:http'
import { divide, median, round, row } from '../statistics.mjs'

/** Listeners that never read. They must slow down no other. */
const idlers = 5

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ listeners: number, warmUp: number, payments: number }} size
 */
export async function benchStream({ processes, say }, { listeners, ...size }) {
  const one = await measure(processes, 1, size)
  const many = await measure(processes, listeners, size)
  const crowd = listeners.toLocaleString('en-US')
  const delay = row(
    'stream/tell-delay',
    `ms to the last of ${crowd} listeners, to one`,
    many.delays,
    one.delays,
    divide(many.delays, one.delays),
  )
  const cpu = row('stream/tell-cpu', `CPU ms per payment told to ${crowd} listeners, to one`, many.costs, one.costs)
  const [most, usual] = [Math.max(...many.delays), median(many.delays)]
  say(`stream/tell: to the last of ${crowd} in ${round(usual)} ms (at most ${round(most)}), ${cpu.value} CPU ms each`)
  return [delay, cpu]
}

/**
 * @param {import('../processes.mjs').Processes} processes
 * @param {number} listeners
 * @param {{ warmUp: number, payments: number }} size
 */
async function measure(processes, listeners, { warmUp, payments }) {
  const server = await processes.start('stream', undefined, { as: `${listeners} listeners` })
  const { url } = server.facts
  let heard = 0
  let done = () => {}
  const hear = () => {
    heard += 1
    if (heard === listeners) done()
  }
  const sockets = await Promise.all([
    ...Array.from({ length: listeners }, () => listen(url, hear)),
    ...Array.from({ length: idlers }, () => listen(url)),
  ])
  /** @type {number[]} */
  const delays = []
  /** @type {number[]} */
  const costs = []
  for (let turn = -warmUp; turn < payments; turn += 1) {
    heard = 0
    /** @type {Promise<number>} */
    const all = new Promise((resolve) => {
      done = () => resolve(performance.timeOrigin + performance.now())
    })
    const before = await server.cpuSeconds()
    const announcedAt = await server.ask('pay')
    const last = await all
    const after = await server.cpuSeconds()
    if (turn < 0) continue
    delays.push(last - announcedAt)
    costs.push((after - before) * 1000)
  }
  for (const socket of sockets) socket.destroy()
  await server.stop()
  return { delays, costs }
}

/**
 * Opens the stream, and calls back for each payment. Without a callback it never reads.
 *
 * @param {string} url
 * @param {() => void} [onPayment]
 * @returns {Promise<import('node:net').Socket>}
 */
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
      return undefined
    })
    request.on('error', reject)
  })
}
