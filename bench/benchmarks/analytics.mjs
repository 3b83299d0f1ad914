// The questions of the analytics to the ledger, over 10,000 payments and over 10,000,000: the answers must not take longer.
// It writes some gigabytes.
import { from, hourMs, openFilled, to } from '../filled-ledger.mjs'
import { median, row } from '../statistics.mjs'

/**
 * @typedef {import('../../dist/core/ports/reports.js').Books} Books
 * @typedef {{ few: number, many: number, warmUp: number, queries: number }} Size
 */

/**
 * As the endpoints of the service ask.
 *
 * @type {Record<string, (books: Books, turn: number) => Promise<void>>}
 */
const questions = {
  summary: async (books) => {
    await books.sums({})
    await books.endpoints({}, 10)
    await books.sums({ from, to })
    await books.endpoints({ from: from + 5 * hourMs, to: to - 7 * hourMs }, 10)
  },
  feed: async (books, turn) => {
    const order = turn % 2 === 0 ? 'latest' : 'oldest'
    const page = await books.listPayments({ order, most: 50 })
    const last = page.at(-1)
    await books.listPayments({ order, most: 50, ...(last && { after: last }) })
    await books.listPayments({ order, most: 50, endpoint: `/api/resource-${turn % 20}` })
    await books.listPayments({ order, most: 50, token: 'SOL', status: 'confirmed', from: from + 99 * hourMs })
    await books.listPayments({ order, most: 50, status: 'expired' })
  },
  payers: async (books, turn) => {
    const page = await books.payers({ from, to, order: 'revenue', most: 50 })
    await books.payers({ from, to, order: 'revenue', most: 50, ...(page.next && { after: page.next }) })
    await books.payers({ from: to - 24 * hourMs, to, order: 'latest', most: 50 })
    const payer = page.payers.at(turn % page.payers.length)?.payer ?? ''
    await books.listPayments({ order: 'latest', most: 50, payer })
  },
  problems: async (books) => {
    await books.countProblems(1_000)
    const last = (await books.problems({ most: 50 })).at(-1)
    await books.problems({ most: 50, kind: 'late', ...(last && { after: last.payment }) })
  },
  series: async (books, turn) => {
    await books.series({ from, to, step: 'hour' })
    await books.series({ from, to, step: 'day', endpoint: `/api/resource-${turn % 20}` })
  },
}

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {Size} size
 * @param {'sqlite' | 'postgres'} store
 */
export async function benchAnalytics(setting, size, store) {
  const { say } = setting
  const ledgers = [await openFilled(setting, store, size.few), await openFilled(setting, store, size.many)]
  const rows = []
  for (const [name, ask] of Object.entries(questions)) {
    const [small = [], large = []] = await compare(ask, ledgers, size)
    const ratio = median(large) / median(small)
    const result = row(`analytics/${name}-10m-${store}`, 'ms, to 10,000 payments', large, small, [ratio])
    say(`${result.name}: ${result.value} ms, ${result.ratio} of the time for ${size.few} payments`)
    rows.push(result)
  }
  for (const ledger of ledgers) await ledger.close()
  return rows
}

/**
 * In turns, so that a disturbance hits both.
 *
 * @param {(books: Books, turn: number) => Promise<void>} ask
 * @param {readonly { books?: Books }[]} ledgers
 * @param {Size} size
 */
async function compare(ask, ledgers, { warmUp, queries }) {
  const times = ledgers.map(() => /** @type {number[]} */ ([]))
  for (let turn = -warmUp; turn < queries; turn += 1) {
    for (const [index, { books }] of ledgers.entries()) {
      if (!books) throw new Error('The ledger keeps no books.')
      const begun = performance.now()
      // Never negative, so that it can choose an endpoint or a payer.
      await ask(books, turn + warmUp)
      if (turn >= 0) times[index]?.push(performance.now() - begun)
    }
  }
  return times
}
