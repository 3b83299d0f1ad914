// A process of its own that uses a ledger until it is killed. It says each answer only after the ledger gave it.
// Arguments: the ledger, the first payment's number, and a file whose appearance is the start signal.
import { createHash } from 'node:crypto'
import { existsSync, writeSync } from 'node:fs'
import { openLedger } from '../../dist/ledger/open.js'

const [path = '', first, signal = ''] = process.argv.slice(2)
const time = 1_800_000_000_000
const clock = { now: () => time, monotonic: () => 0 }
/** @type {import('../../dist/ledger/open.js').LedgerParts['identity']} */
const identity = { network: 'localnet', service: 'tests', fingerprint: 'fingerprint-1' }
const say = (line) => writeSync(1, `${line}\n`)

say('ready')
// Looks often, so that all begin at the same moment, and leaves the processor to the others meanwhile.
while (!existsSync(signal)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
const ledger = await openLedger(path, { clock, identity })
const { journal } = ledger
if (!journal) throw new Error('this ledger keeps no journal')
say('open')

for (let number = Number(first); ; number++) {
  const payment = paymentOf(String(number), number)
  const { tx } = payment
  if (number % 4 === 1) await journal.sight([sightingOf(payment)])
  if (number % 6 === 0) await play(paymentOf(`side ${number}`, number), number / 6)
  const taken = await ledger.take({ tx, request: payment.request, payment, amount: 1n, leaseMs: 60_000 })
  if (taken.kind !== 'granted') continue
  say(`granted ${number}`)
  // Some are left open, as if the response were still on its way.
  if (number % 5 === 0) continue
  if (await ledger.end(taken.grant, 'delivered', 1n)) say(`settled ${number}`)
}

/** A payment of which nobody keeps account: it comes late, lands, is taken back and lands again, in whatever order it happens. */
async function play(payment, number) {
  const { tx, request } = payment
  if (number % 2 === 0) await ledger.recordLate(payment)
  await ledger.take({ tx, request, payment, amount: 1n, leaseMs: 1 })
  await journal.conclude([{ tx, finality: number % 3 === 0 ? 'finalized' : 'reverted' }])
  if (number % 4 === 0) return
  const again = { ...payment, paidAt: time + 3_600_000 * (number % 5), finality: 'finalized' }
  await ledger.take({ tx, request, payment: again, amount: 1n, leaseMs: 1 })
}

/** @returns {import('../../dist/core/ports/ledger.js').PaymentRecord} */
function paymentOf(name, number) {
  return {
    tx: new Uint8Array(createHash('sha512').update(name).digest()),
    request: 'request-1',
    payer: 'payer-1',
    scope: 'GET /api/data',
    recipient: 'recipient-1',
    token: 'USDC',
    required: 1n,
    received: 1n,
    allowance: { unit: 'request', amount: 1n },
    slot: 1,
    paidAt: time + 3_600_000 * (number % 30),
    usableUntil: time + 86_400_000,
    finality: 'confirmed',
    endpoint: `/api/${number % 4}`,
    worth: number % 6 === 0 ? undefined : 1n,
    rates: undefined,
  }
}

function sightingOf({ tx, recipient, request, payer, token, required, received, slot, paidAt, endpoint }) {
  const promised = { required, payableUntil: time, claimableUntil: time }
  return { tx, recipient, request, payer, token, received, slot, paidAt, endpoint, ...promised }
}
