// Paid requests whose transaction the watcher has seen: the cost of a durable ledger, beside the bare framework, a ledger in
// memory, and the least that such a server does; and whether several servers on one database get in each other's way.
import { join } from 'node:path'
import { createLoad } from '../load.mjs'
import { claimAll, claimMeasured, openBare, openShop, readPaidHeaders } from '../shop.mjs'
import { row } from '../statistics.mjs'

/**
 * @typedef {import('../setting.mjs').Setting} Setting
 * @typedef {import('../sizes.mjs').Rounds} Rounds
 * @typedef {import('../shop.mjs').Server} Server
 */

/**
 * One service with three ledgers, so that one set of proofs is shown to every side. The warm-up consists of purchases, and
 * of as many requests without a proof as compilers need for the parts that all requests share.
 *
 * @param {Setting} setting
 * @param {Rounds & { unpaid: number }} size
 */
export async function benchKnown(setting, { warmUp, unpaid, rounds, requests }) {
  const payer = await setting.payer()
  const provider = { ...(await setting.provider()), service: 'known' }
  const open = async (/** @type {string} */ as, /** @type {string} */ ledger) => ({
    server: await openShop(setting, { ...provider, ledger }, { as }),
    rates: createRates(),
  })
  const [memory, sqlite, postgres] = await Promise.all([
    open('memory', 'memory:'),
    open('sqlite', join(setting.home, 'known.sqlite')),
    open('postgres', await setting.postgresPlace()),
  ])
  const buy = (/** @type {number} */ amount) => payer.buy([memory.server, sqlite.server, postgres.server], amount)
  // The others send the same bytes.
  const [proof = ''] = await buy(1)
  const headers = await readPaidHeaders(memory.server.facts.url, proof)
  const bare = await openBare(setting, { headers })
  const path = join(setting.home, 'least.sqlite')
  const least = await setting.processes.start('least', { path, headers }, { as: 'the least' })
  const others = { bare: { server: bare, rates: createRates() }, least: { server: least, rates: createRates() } }
  const sides = { memory, sqlite, postgres, ...others }
  for (const { server } of [memory, sqlite, postgres, others.bare]) {
    const load = createLoad(server.facts.url, { status: server === bare ? 200 : 402 })
    await load.run(unpaid)
    load.close()
  }
  for (let turn = -1; turn < rounds; turn += 1) {
    const proofs = await buy(turn < 0 ? warmUp : requests)
    for (const { server, rates } of Object.values(sides)) {
      const rate = await claimMeasured(server, proofs)
      if (turn >= 0) rates.push(rate)
    }
  }
  await Promise.all(Object.values(sides).map(({ server }) => server.stop()))
  const pairs = /** @type {const} */ ([
    ['sqlite', 'bare', 'the bare framework'],
    ['sqlite', 'memory', 'a ledger in memory'],
    ['sqlite', 'least', 'a server that only writes two durable rows and signs a receipt'],
    ['postgres', 'bare', 'the bare framework'],
    ['postgres', 'memory', 'a ledger in memory'],
  ])
  return pairs.map(([name, beside, description]) => {
    const [ours, theirs] = [sides[name].rates, sides[beside].rates]
    const result = row(`known/${name}-to-${beside}`, 'paid requests per CPU second', ours, theirs)
    setting.say(`known/${name}: ${result.ratio} of ${description}`)
    return result
  })
}

/**
 * One, two and four servers on one database, in turn, each under the same load. They share the same cores here, so the
 * CPU time of a request is compared: as long as that stays the same, more machines bring as much more.
 *
 * @param {Setting} setting
 * @param {Rounds} size
 */
export async function benchReplicas(setting, { warmUp, rounds, requests }) {
  const payer = await setting.payer()
  const provider = { ...(await setting.provider()), ledger: await setting.postgresPlace(), service: 'replicas' }
  // Only CPU time is compared, so the servers may use all cores.
  const open = (/** @type {number} */ number) =>
    openShop(setting, provider, { as: `replica ${number}`, placement: 'anywhere' })
  /** @type {[Server, Server, Server, Server]} */
  const servers = await Promise.all([open(1), open(2), open(3), open(4)])
  const groups = [1, 2, 4].map((count) => ({ count, members: servers.slice(0, count), rates: createRates() }))
  await claimAll(servers, await payer.buy(servers, warmUp))
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const { count, members, rates } of groups) {
      const proofs = await payer.buy(servers, count * requests)
      const before = await sumCpuSeconds(servers)
      await claimAll(members, proofs)
      rates.push(proofs.length / ((await sumCpuSeconds(servers)) - before))
    }
  }
  await Promise.all(servers.map((server) => server.stop()))
  const [one, ...more] = groups
  return more.map(({ count, rates }) => {
    const single = one?.rates ?? []
    const result = row(`known/replicas-${count}-to-1`, 'paid requests per CPU second', rates, single)
    setting.say(`known/replicas-${count}: ${result.ratio} of one server`)
    return result
  })
}

/** @returns {number[]} */
function createRates() {
  return []
}

/** @param {readonly Server[]} servers */
async function sumCpuSeconds(servers) {
  const used = await Promise.all(servers.map((server) => server.cpuSeconds()))
  return used.reduce((sum, seconds) => sum + seconds, 0)
}
