// The CPU time that a 402 for clients of all protocols adds to Express, beside the time that @x402/express adds; and the
// CPU time of the 402, beside that of a server without a sponsor, whose 402 only our own clients read.

import { startPeer } from '../buyers.mjs'
import { measureCpu } from '../rounds.mjs'
import { compareMedians } from '../statistics.mjs'

const bare = { body: '{}', headers: { 'Content-Type': 'application/json; charset=utf-8' } }

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {import('../sizes.mjs').StartedRounds} size
 */
export async function benchReachUnpaid(setting, size) {
  const { processes, say } = setting
  /** Microseconds of CPU time for a request, for each server. */
  const times = /** @type {[number[], number[], number[], number[]]} */ ([[], [], [], []])
  for (let start = 0; start < size.starts; start += 1) {
    const provider = { ...(await setting.provider()), ledger: 'memory:', watch: false }
    const open = (/** @type {object} */ options, /** @type {string} */ as) =>
      processes.start('server', { framework: 'express', ...options }, { as: `express, ${as}` })
    const servers = await Promise.all([
      open({ bare }, 'bare'),
      open({ provider: { ...provider, sponsor: true } }, 'all protocols'),
      open({ provider }, 'native only'),
      startPeer(setting, 'x402'),
    ])
    for (const [index, measured] of (await measureCpu(servers, size)).entries()) times[index]?.push(...measured)
    await Promise.all(servers.map((server) => server.stop()))
  }
  const [least, all, native, peer] = times
  const add = (/** @type {number[]} */ some) => some.map((time, index) => Math.max(1, time - (least[index] ?? 0)))
  const rows = [
    compareMedians('reach/unpaid-to-peer', 'µs of CPU added to Express', add(all), add(peer)),
    compareMedians('reach/unpaid-to-native', 'µs of CPU', all, native),
  ]
  for (const { name, value, baseline, ratio } of rows) say(`${name}: ${ratio} (${value} and ${baseline} µs)`)
  return rows
}
