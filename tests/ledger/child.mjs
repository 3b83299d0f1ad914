// A process of its own that uses a ledger until it is killed. It says each answer only after the ledger gave it.
// Arguments: the compiled ledger, the file, the first payment's number, and a file whose appearance is the start signal.
import { createHash } from 'node:crypto'
import { existsSync, writeSync } from 'node:fs'

const [built, path, first, signal] = process.argv.slice(2)
const { openLedger } = await import(built)
const time = 1_800_000_000_000
const clock = { now: () => time, monotonic: () => 0 }
const identity = { network: 'localnet', service: 'tests', fingerprint: 'fingerprint-1' }
const say = (line) => writeSync(1, `${line}\n`)

say('ready')
while (!existsSync(signal));
const ledger = await openLedger(path, { clock, identity })
say('open')

for (let number = Number(first); ; number++) {
  const tx = new Uint8Array(createHash('sha512').update(String(number)).digest())
  const payment = {
    tx,
    request: 'request-1',
    payer: 'payer-1',
    scope: 'GET /api/data',
    recipient: 'recipient-1',
    token: 'USDC',
    required: 1n,
    received: 1n,
    allowance: { unit: 'request', amount: 1n },
    slot: 1,
    paidAt: time,
    usableUntil: time + 86_400_000,
    finality: 'confirmed',
    endpoint: '/api/data',
    worth: 1n,
    rates: undefined,
  }
  const taken = await ledger.take({ tx, request: payment.request, payment, amount: 1n, leaseMs: 60_000 })
  if (taken.kind !== 'granted') continue
  say(`granted ${number}`)
  // Some are left open, as if the response were still on its way.
  if (number % 5 === 0) continue
  if (await ledger.end(taken.grant, 'settle', 1n)) say(`settled ${number}`)
}
