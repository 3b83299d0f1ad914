// `npm run torture -- --slices`: two servers are killed while they hold slices of bundles. Two bundles are used at both of
// them. The first one outlives three deaths, the second one all. Afterwards both are used up, and counted from outside.
//   --kills N   servers that are killed (5)      --uses N   uses of a bundle (600)
//   --seed N    the moments of the deaths (1)    --sqlite   one file instead of PostgreSQL    --json  nothing but the result
import { fork } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { generateKeyPairSigner } from '@solana/kit'
import { createWallet } from '../../dist/chain/keys/keypair.js'
import { fetchTransport } from '../../dist/chain/rpc/fetch-transport.js'
import { createRpc } from '../../dist/chain/rpc/rpc.js'
import { decodeSignature } from '../../dist/core/encoding/base58.js'
import { openLedger } from '../../dist/ledger/open.js'
import { createCrew } from './crew.mjs'
import { keepHistory, readHistory, readIdentity } from './history.mjs'
import { isDecided, isWhole, pay, request } from './payers.mjs'
import { openFile, openServer } from './stages.mjs'

const { values } = parseArgs({
  options: {
    slices: { type: 'boolean' },
    kills: { type: 'string', default: '5' },
    uses: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    sqlite: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const bought = Number(values.uses)
const largestSlice = Math.min(64, Math.floor(bought / 16))
const leaseSeconds = 1
const servers = 2
const lines = 12
const returnedSlices = 3
/** Servers and database read the same clock, but not in the same millisecond. */
const toleranceMs = 5
const random = createRandom(Number(values.seed))
const upTo = (most) => Math.floor(random() * (most + 1))
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const say = (line) => values.json || process.stderr.write(`${line}\n`)

// The children end with this process.
process.once('SIGTERM', () => process.exit(143))
const home = mkdtempSync(join(tmpdir(), 'paystile-torture-'))
process.env['PAYSTILE_HOME'] = home
const localnet = fork(fileURLToPath(new URL('./hostile.mjs', import.meta.url)), ['200'], {
  stdio: ['ignore', 2, 2, 'ipc'],
})
const [chain] = await once(localnet, 'message')
const fund = async (address, amounts) => {
  localnet.send({ fund: { address, amounts } })
  await once(localnet, 'message')
}
const recipient = (await generateKeyPairSigner()).address
const wallet = await createWallet(await generateKeyPairSigner())
await fund(recipient, { SOL: '1000000000', USDC: '0' })
await fund(wallet.address, { SOL: '1000000000', USDC: '1000000' })

const stage = values.sqlite ? openFile(home) : await openServer()
const provider = {
  ...{ recipient, rpc: chain.rpcUrl, ledger: stage.ledger, secret: `1:${randomBytes(32).toString('hex')}` },
  ...{ leaseSeconds, per: { requests: bought } },
}
const crew = await createCrew({ home, provider, count: servers, spares: 1 })
const agent = new Agent({ keepAlive: true })
await keepHistory(await stage.database())

const [first, second] = [await buy(), await buy()]
say(`${servers} servers on ${stage.name}`)
for (let kill = 0; kill < returnedSlices; kill += 1) await killWhileUsing([first, second])
await useUp(first)
for (let kill = returnedSlices; kill < Number(values.kills); kill += 1) await killWhileUsing([second])
await useUp(second)
const tally = await audit()

agent.destroy()
await crew.close()
await stage.close()
localnet.disconnect()
rmSync(home, { recursive: true, force: true })
process.stdout.write(`${JSON.stringify(tally)}\n`)
process.exit()

/** Only a proof with a secret of its own is served from slices. */
async function buy() {
  const secret = randomBytes(24).toString('base64url')
  const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
  const challenge = /** @type {any} */ (await request(agent, crew.ports[0], { 'payment-accept': accept }))
  const rpc = createRpc({ urls: [chain.rpcUrl], transport: fetchTransport })
  const [payment] = await pay({ rpc, chain, recipient, wallet }, [JSON.parse(challenge.body).requestId])
  rpc.close()
  if (!payment) throw new Error('the payment did not land')
  return { tx: payment.tx, proof: `${payment.proof}; claim=${secret}`, served: 0, servedAt: [0, 0], isRefused: false }
}

async function use(bundle, place) {
  const answer = await request(agent, crew.ports[place], { 'payment-proof': bundle.proof })
  if (isWhole(answer)) {
    bundle.served += 1
    bundle.servedAt[place] += 1
  } else {
    if (isDecided(answer)) bundle.isRefused = true
    await pause(10)
  }
}

/** The server dies when it has served some uses of each bundle, and others are under way. */
async function killWhileUsing(bundles) {
  const place = upTo(servers - 1)
  // Most uses of the slice were served, and the server did not report them yet.
  const least = Math.floor(largestSlice / 3) + upTo(Math.floor(largestSlice / 3))
  while (!crew.hasSpare()) await pause(20)
  for (const bundle of bundles) bundle.servedAt = [0, 0]
  let isOver = false
  const using = Array.from({ length: lines }, async () => {
    while (!isOver) await use(bundles[upTo(bundles.length - 1)], upTo(servers - 1))
  })
  while (!bundles.every(({ servedAt, isRefused }) => isRefused || servedAt[place] >= least)) await pause(2)
  while (!(await crew.kill(place))) await pause(2)
  say(`killed server ${place} after ${bundles.map(({ servedAt }) => servedAt[place])} uses`)
  await pause(upTo(30))
  isOver = true
  await Promise.all(using)
  await crew.complete()
}

/** Until both servers refuse the proof for good. The leases of the dead end meanwhile. */
async function useUp(bundle) {
  for (let place = 0; place < servers; place += 1) {
    bundle.isRefused = false
    const using = Array.from({ length: lines }, async () => {
      while (!bundle.isRefused) await use(bundle, place)
    })
    await Promise.all(using)
  }
}

async function audit() {
  const clock = { now: Date.now, monotonic: () => performance.now() }
  const ledger = await openLedger(stage.ledger, { clock, identity: await readIdentity(await stage.database()) })
  if (!ledger.books) throw new Error('the ledger keeps no books')
  const misbooked = await ledger.books.audit()
  const history = await readHistory(await stage.database())
  const bundles = []
  for (const { tx, served } of [first, second]) {
    const states = history.get(tx) ?? []
    const { lost, held, returned } = judgeHistory(states)
    const slices = lost.filter(({ from }) => from > 0).map(({ amount }) => amount)
    const status = await ledger.peek(decodeSignature(tx) ?? new Uint8Array())
    const state = { state: status?.state, remaining: Number(status?.remaining), held: held.length }
    bundles.push({ bought, served, slices, singles: lost.length - slices.length, returned, ...state })
  }
  await ledger.close()
  return { kills: Number(values.kills), misbooked: misbooked.length, bundles }
}

/** The leases that ended without their servers, and those that have not ended. */
function judgeHistory(states) {
  const lost = []
  let before = []
  for (const { at, leases } of states) {
    const gone = before.filter(({ fence }) => !leases.some((lease) => lease.fence === fence))
    lost.push(...gone.filter(({ deadline }) => deadline <= at + toleranceMs))
    before = leases
  }
  const now = Date.now()
  // A lapsed lease stays in its row until another grant takes its part.
  lost.push(...before.filter(({ deadline }) => deadline <= now))
  return { lost, held: before.filter(({ deadline }) => deadline > now), returned: states.at(-1)?.returned }
}

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function createRandom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
