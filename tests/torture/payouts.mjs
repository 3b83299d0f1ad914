// `npm run torture -- --payouts`: two workers that pay what is owed are killed and frozen again and again, while payments
// earn more, and the node between them and the chain does its worst (hostile.mjs). Afterwards the chain is read from
// outside: everybody got what is owed, once, to the base unit.
//   --cycles N   how often a worker is killed (500)     --json   nothing but the result
//   --sqlite     one file instead of PostgreSQL, which is killed now and then as well
import { fork } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readRoutesConfig } from '../../dist/api/options.js'
import { startPayoutWorkers } from '../../dist/compose/payouts.js'
import { openHandle } from '../../dist/compose/paywall.js'
import { encodeBase58 } from '../../dist/core/encoding/base58.js'
import { auditRewards } from '../../dist/workers/payouts/audit.js'
import { createCrew } from './crew.mjs'
import { createEarnings } from './earnings.mjs'
import { judgePayouts } from './payouts-audit.mjs'
import { createObserver } from './payouts-chain.mjs'
import { openFile, openServer } from './stages.mjs'

const { values } = parseArgs({
  options: {
    payouts: { type: 'boolean' },
    cycles: { type: 'string', default: '500' },
    payers: { type: 'string', default: '60' },
    sqlite: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const cycles = Number(values.cycles)
const slotMs = 20
const killMs = 450
const silent = { info: () => {}, warn: () => {}, error: () => {} }
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const say = (line) => values.json || process.stderr.write(`${line}\n`)

// So that what ends with this process is ended, too.
process.once('SIGTERM', () => process.exit(143))
const home = mkdtempSync(join(tmpdir(), 'paystile-torture-'))
process.env['PAYSTILE_HOME'] = home
const hostile = fork(fileURLToPath(new URL('./hostile.mjs', import.meta.url)), [String(slotMs)], {
  stdio: ['ignore', 2, 2, 'ipc'],
})
const [chain] = await once(hostile, 'message')
const order = async (message) => {
  hostile.send(message)
  return (await once(hostile, 'message'))[0]
}
const fund = (address, amounts) => order({ fund: { address, amounts } })
const { NATIVE: native, USDC: usdc } = chain.mints

const newKey = () => {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return [...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')]
}
const addressOf = (key) => encodeBase58(Uint8Array.from(key.slice(32)))
const key = newKey()
const newAddress = () => addressOf(newKey())
const [collector, partner, treasury] = [newAddress(), newAddress(), newAddress()]
const [buyback, incentives] = [newAddress(), newAddress()]
await fund(addressOf(key), { SOL: '1000000000000', NATIVE: String(10n ** 18n) })
await fund(collector, { SOL: '1000000000', USDC: '0' })
await fund(partner, { NATIVE: '0' })

const endpoint = '/data'
const stage = values.sqlite ? openFile(home) : await openServer()
const options = {
  network: /** @type {const} */ ('localnet'),
  rpc: chain.rpcUrl,
  ledger: stage.ledger,
  secret: `1:${randomBytes(32).toString('hex')}`,
  rewards: {
    collector,
    cashback: { 0: 2 },
    treasury: { wallet: treasury, weight: 2 },
    buyback: { wallet: buyback, weight: 1 },
    incentives: { wallet: incentives, weight: 1 },
    partners: [{ name: 'acme', wallet: partner, share: 85, endpoints: [endpoint] }],
    threshold: '0.000000001',
    dailyFees: '1000',
  },
}
/** A payment in base units of USDC is worth 10,000 times as many of NATIVE at 0.1; of these in hundredths of a percent. */
const sharesOf = ({ payer, units }) =>
  Object.entries({ [partner]: 8_500n, [payer]: 200n, [treasury]: 650n, [buyback]: 325n, [incentives]: 325n }).map(
    /** @returns {[string, bigint]} */ ([owner, bps]) => [owner, units * bps],
  )

const config = readRoutesConfig({ ...options, log: silent }, {})
const handle = openHandle(config.service, silent)
const service = await handle.get()
const { rewards, outgoing, books } = readParts(service.ledger)
await rewards.start()
const crew = await createCrew({ home, provider: { ...options, key }, count: 2, entry: 'payouts-worker.mjs' })
const earnings = await createEarnings({ chain, fund, collector, service, count: Number(values.payers), endpoint })
const ownerOf = ({ role, payee }) =>
  role === 'cashback' ? earnings.payers.find(({ name }) => name === payee)?.address : payee

const tally = {
  kills: 0,
  freezes: 0,
  databaseKills: 0,
  forks: 0,
  payments: 0,
  transactions: 0,
  payouts: 0,
  signedAgain: 0,
}
let isOver = false
say(`two workers on ${stage.name}, ${cycles} deaths`)
await order({ isBad: true })
await Promise.all([killWorkers(), killDatabase(), whileTimePasses(() => isOver), earnings.earn(() => isOver)])
say('the node is well again; what is left is paid')
tally.forks = (await order({ isBad: false })).forks
const isDone = await untilPaid()
await crew.close()
const wrongs = await audit()

for (const one of [...wrongs.doubles, ...wrongs.forgotten, ...wrongs.misbooked].slice(0, 40))
  process.stderr.write(`${one}\n`)
const result = {
  ...tally,
  ...Object.fromEntries(Object.entries(wrongs).map(([name, all]) => [name, all.length])),
  isDone,
}
if (!isDone || Object.values(wrongs).some(({ length }) => length > 0)) process.exitCode = 1
earnings.close()
await handle.release()
await stage.close()
hostile.disconnect()
rmSync(home, { recursive: true, force: true })
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit()

async function killWorkers() {
  for (let turn = 0; tally.kills < cycles; turn += 1) {
    // One stands still in the middle of something, long enough for what it signed to expire, while the other goes on.
    if (turn % 8 === 7) {
      const freezing = crew.freeze(turn, slotMs * (100 + 250 * Math.random()))
      await killOthers(turn + 1, freezing)
      if (await freezing) tally.freezes += 1
    } else await killOne(turn)
  }
  await crew.complete()
  isOver = true
}

async function killOthers(turn, freezing) {
  let isFrozen = true
  void freezing.then(() => {
    isFrozen = false
  })
  while (isFrozen && tally.kills < cycles) await killOne(turn)
}

async function killOne(turn) {
  await pause(killMs * (0.2 + 1.6 * Math.random()))
  while (!(await crew.kill(turn))) await pause(10)
  tally.kills += 1
  if (tally.kills % 50 === 0) say(`${tally.kills} deaths, ${earnings.payments.length} payments`)
}

async function killDatabase() {
  while (stage.strike && !isOver) {
    await pause(3 * stage.everyMs * (0.5 + Math.random()))
    if (isOver) return
    await stage.strike()
    tally.databaseKills += 1
  }
}

/** Half a day in a second, so that those who were parked come back. */
async function whileTimePasses(isEnd) {
  while (!isEnd()) {
    await pause(1_000)
    await order({ pass: 43_200 })
  }
}

/** False when something is left after a minute that should not be. */
async function untilPaid() {
  let isPaid = false
  const passing = whileTimePasses(() => isPaid)
  for (const until = Date.now() + 60_000; Date.now() < until && !isPaid; await pause(200)) {
    // A payment is shared out when it is final, so before that nothing of it is owed.
    const isShared = await areAllShared()
    const owed = (await rewards.sums()).reduce((sum, one) => sum + one.owed, 0n)
    const isIdle = owed === 0n && (await rewards.countAccruable()) === 0 && (await outgoing.open()).length === 0
    isPaid = isShared && isIdle
  }
  const isDone = isPaid
  isPaid = true
  await passing
  return isDone
}

async function areAllShared() {
  const accruals = await readAll((after) => rewards.accruals(after?.number ?? 0, 200))
  const shared = new Set(accruals.map(({ tx }) => encodeBase58(tx)))
  return earnings.payments.every(({ tx }) => shared.has(tx))
}

async function audit() {
  const observer = createObserver(chain.rpcUrl)
  const accruals = await readAll((after) => rewards.accruals(after?.number ?? 0, 200))
  const sent = await readAll((after) => outgoing.list({ kind: 'payout', most: 200, ...(after && { after }) }))
  const withLines = await Promise.all(sent.map(async (one) => ({ ...one, lines: await outgoing.lines(one.id) })))
  const transactions = await observer.transactionsOf(addressOf(key), native.address)
  const owners = [partner, treasury, buyback, incentives, ...earnings.payers.map(({ address }) => address)]
  const balances = await Promise.all(
    owners.map(
      /** @returns {Promise<[string, bigint]>} */
      async (owner) => [owner, await observer.balanceOf(owner, native.address)],
    ),
  )
  const { doubles, forgotten } = judgePayouts({
    ...{ payments: earnings.payments, transactions, sharesOf, ownerOf, balances: new Map(balances) },
    accruals: accruals.map((one) => ({ ...one, tx: encodeBase58(one.tx) })),
    outgoing: withLines,
  })
  tally.payments = earnings.payments.length
  tally.transactions = transactions.length
  tally.payouts = withLines.filter(({ state }) => state === 'landed').reduce((sum, { lines }) => sum + lines.length, 0)
  tally.signedAgain = sent.reduce((sum, { attempts }) => sum + Math.max(0, attempts - 1), 0)
  return { doubles, forgotten, misbooked: await findMisbooked() }
}

/** What the product's own audits say. */
async function findMisbooked() {
  if (!config.rewards) throw new Error('no rewards are configured')
  const money = await startPayoutWorkers(service, {
    ...config,
    rewards: { ...config.rewards, key: Uint8Array.from(key) },
  })
  if (!money.payouts) throw new Error('nobody pays')
  const assets = { SOL: 'SOL', USDC: usdc.address, NATIVE: native.address }
  const { problems, unknown } = await auditRewards({
    ...money.payouts,
    books: service.ledger.books,
    chain: service.chain,
    rateJournal: service.ledger.rates,
    reportToken: service.config.reportToken,
    nameOf: (wallet) => service.pseudonyms.wallet(wallet),
    native,
    assetOf: (token) => assets[token],
  })
  await money.stop()
  const totals = (await books.audit()).map(({ line, kept, counted }) => `${line}: ${kept}, and not ${counted}`)
  return [...problems, ...unknown, ...totals]
}

/** The parts of a ledger that keeps rewards. */
function readParts(/** @type {import('../../dist/server.js').Ledger} */ { rewards, outgoing, books }) {
  if (!rewards || !outgoing || !books) throw new Error('the ledger keeps no rewards')
  return { rewards, outgoing, books }
}

/** Page by page. */
async function readAll(read) {
  const all = []
  for (;;) {
    const page = await read(all.at(-1))
    all.push(...page)
    if (page.length < 200) return all
  }
}
