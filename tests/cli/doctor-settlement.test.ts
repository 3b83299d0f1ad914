/** The doctor on conversion: the key has to be the recipient's, and the desk has to answer and to quote. */
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDesk } from '../../src/cli/operator/desk.ts'
import { makeKeyFile, viewKeyFile } from '../../src/host/keys/key-file.ts'
import { quiet } from '../venues/venue-fixture.ts'
import {
  directory,
  examine,
  listen,
  play,
  recipient,
  settings,
  trouble,
  troubles,
  useDoctorFixture,
  world,
  write,
} from './doctor-fixture.ts'

useDoctorFixture()

const look = (more: object) =>
  examine(
    write(
      settings({
        ...{ network: 'localnet', acceptedMints: ['USDC', 'SOL'], settlementToken: 'USDC', autoConversion: true },
        ...{ conversionThreshold: { SOL: 1 }, venue: { kind: 'rfq', url: 'http://127.0.0.1:1' }, ...more },
      }),
    ),
  )

it('leads from no key to a desk that quotes', async () => {
  play('localnet')
  expect(trouble(await look({}))).toMatch(
    /^warn convert: SOL of .* is converted by another process, .* → run npx paystile worker on the same ledger/,
  )
  const settlementKey = join(directory, 'settlement.json')
  makeKeyFile(settlementKey)
  const { address } = viewKeyFile(settlementKey)
  const [wrong, silent] = troubles(await look({ settlementKey }))
  expect(wrong).toBe(
    `fail convert: settlementKey is the key of ${address}, but the payments belong to ${recipient.address} → set settlementKey to the key of ${recipient.address}, or set recipient: ${address}`,
  )
  expect(silent).toMatch(
    /^fail convert: the desk at http:\/\/127\.0\.0\.1:1 does not respond for SOL \(.*\) → start it, or correct venue\.url$/,
  )
  await world.localnet.fund(address, { SOL: 10_000_000n, USDC: 0n })
  const own = { recipient: address, settlementKey }
  const none = createServer((_request, response) => {
    response.writeHead(422, { 'Content-Type': 'application/json' }).end('{"why":"not this"}')
  })
  onTestFinished(() => void none.close())
  const refusing = await look({ ...own, venue: { kind: 'rfq', url: await listen(none) } })
  expect(trouble(refusing)).toMatch(/does not exchange SOL for USDC: .*not this.* → set another venue/)
  const { localnet } = world
  const common = { network: 'localnet', urls: [localnet.rpcUrl], port: 0, host: '127.0.0.1', log: quiet } as const
  const open = async (rates?: string) => {
    const keyFile = join(directory, 'desk.json')
    makeKeyFile(keyFile)
    const desk = await openDesk({ ...common, keyFile, spreadBps: 30, mints: localnet.mints, rates })
    onTestFinished(() => desk.close())
    return { kind: 'rfq', url: desk.url }
  }
  const empty = await look({ ...own, venue: await open() })
  expect(troubles(empty)).toEqual([])
  expect(empty.text).toContain('responds, and quotes SOL for USDC once the wallet holds some')
  await world.localnet.fund(address, { SOL: 500_000_000n })
  const dear = await look({ ...own, venue: await open('SOL=1,NATIVE=0.1') })
  expect(trouble(dear)).toMatch(/for SOL is refused: the quote is 99\.\d\d % worse than the rate → .*maxDeviationBps/)
  const well = await look({ ...own, venue: await open() })
  expect(troubles(well)).toEqual([])
  expect(well.text).toContain(`settlementKey is the key of ${address}`)
  expect(well.text).toContain('exchanges SOL for USDC at an acceptable price')
})

it('warns if conversions or payables are kept in memory', async () => {
  play('localnet')
  const rest = { wallet: recipient.address, weight: 1 }
  const rewards = { cashback: { 0: 1 }, withoutPartner: true, treasury: rest, buyback: rest, incentives: rest }
  const plain = { network: 'localnet', ledger: 'memory:', venue: undefined, rewards, autoConversion: false }
  expect(troubles(await look(plain))).toContainEqual(
    'warn ledger: is in memory: rewards, refunds and conversions are lost at the next start, and commands cannot read it → set ledger: to a file, such as ledger.sqlite',
  )
  expect(troubles(await look({ ...plain, rpc: undefined, ledger: undefined }))).toContainEqual(
    expect.stringMatching(/^warn ledger: .* → run npx paystile localnet and set its address as rpc$/),
  )
  expect(troubles(await look({ ...plain, rewards: undefined }))).toEqual([])
})
