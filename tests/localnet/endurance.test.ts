/** A chain that runs for long: idle slots cost nothing, history stays, memory does not run away. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Chain, openChain } from '../../src/localnet/chain.ts'
import { buildTransaction, computeUnitLimit, transferSol } from '../../src/localnet/transaction/build.ts'
import { createKeypair, newSecret } from '../../src/localnet/transaction/signature.ts'
import { decodeTransaction } from '../../src/localnet/transaction/wire.ts'

let chain: Chain
beforeAll(async () => {
  chain = await openChain({ slotMs: 2 ** 31 - 1 })
})
afterAll(() => chain.bank.close())

const turn = () => new Promise((done) => setImmediate(done))

async function memory(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.()
    await turn()
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1024 / 1024
}

it('passes a million idle slots at once, and ten thousand one by one, in no time and no memory', async () => {
  const { bank } = chain
  const before = await memory()
  const started = process.cpuUsage()
  const first = bank.sync()
  bank.jump(1_000_000, 400_000_000)
  for (let count = 0; count < 10_000; count++) bank.jump(1, 400)
  expect(bank.sync()).toBe(first + 1_010_000)
  // Of the processor's time, which other programs do not lengthen, in microseconds.
  expect(process.cpuUsage(started).user).toBeLessThan(3_000_000)
  expect((await memory()) - before).toBeLessThan(20)
  // And every one of them is still there to be asked about.
  const { timeline } = bank
  const some = Array.from({ length: 1_000 }, (_, index) => first + index * 1_010)
  expect(new Set(some.map(timeline.blockhashOf)).size).toBe(1_000)
  const times = some.map(timeline.timeOf)
  expect(times).toEqual([...times].sort((left, right) => left - right))
})

it('keeps the history of thousands of transactions in a few megabytes, and little else', async () => {
  const { bank, faucet } = chain
  const [payer, payee] = [createKeypair(newSecret()), createKeypair(newSecret())]
  faucet.pay(payer.address, { SOL: 10n ** 12n })
  faucet.pay(payee.address, { SOL: 10n ** 9n })
  const send = (serial: number) => {
    const calls = [computeUnitLimit(10_000 + serial), transferSol(payer.address, payee.address, 5n)]
    const decoded = decodeTransaction(buildTransaction(payer, calls, bank.latestBlockhash(bank.sync())))
    if (decoded.kind !== 'ok' || bank.submit(decoded.value).kind !== 'landed') throw new Error('it did not land')
  }
  const rounds = async (from: number, to: number) => {
    for (let serial = from; serial < to; serial++) {
      send(serial)
      if (serial % 20 === 0) {
        bank.jump(1, 400)
        await turn()
      }
    }
    bank.jump(500, 200_000)
  }
  await rounds(0, 300)
  const before = await memory()
  await rounds(300, 1_500)
  const grown = (await memory()) - before
  // SQLite holds the records outside of this heap: about two kilobytes each.
  expect(grown).toBeLessThan(20)
  expect(bank.history.count()).toBe(1_502)
  const page = bank.history.ofAddress(
    payee.address,
    { slot: bank.sync(), position: 0 },
    { slot: -1, position: -1 },
    10_000,
  )
  expect(page).toHaveLength(1_501)
  expect([...bank.accounts.changedSlots()]).toEqual([])
})
