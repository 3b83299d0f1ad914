/**
 * Chaos, as the payer sees it: whatever goes wrong between the service and its nodes, or between the payer and its own,
 * the resource comes, and the chain holds one payment.
 */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PaymentError } from '../../src/client/errors.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import type { ClientEvent } from '../../src/client/options.ts'
import { cells } from '../harness/length.ts'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { createChainFixture, createPaymentCase, type PaymentCase } from './chain-fixture.ts'
import { applyFault } from './fault-rules.ts'
import { lies, outages } from './faults.ts'

const price = 10_000n
const funds = 1_000_000_000n
let fixture: ShopFixture
let elsewhere: LocalnetFixture
let paymentCase: PaymentCase
let shopUrl: string

beforeAll(async () => {
  fixture = await createShopFixture()
  elsewhere = await createLocalnetFixture()
  // The other chain is older, so that whatever expires soon here has long expired there.
  elsewhere.localnet.advance(0, 2_000)
  const shop = await fixture.open()
  shopUrl = shop.url
  paymentCase = await createPaymentCase(await createChainFixture(fixture.world, elsewhere, fixture.payer), () =>
    shop.challenge(),
  )
  await paymentCase.land()
})
afterAll(async () => {
  await fixture.close()
  await elsewhere.close()
})

/** With one node of the two to contradict a lie; alone where there is nothing to contradict. */
const rows = [
  ...outages.map((fault) => [fault.title, fault, ['faulty']] as const),
  ...lies.map((fault) => [`${fault.title}, and another does not`, fault, ['faulty', 'honest']] as const),
]

describe('a node of the service', () => {
  it.concurrent.each(cells(rows, 3))('%s, and gets well while the payer tries', async (_title, fault, states) => {
    const nodes = await Promise.all(states.map(() => fixture.fakeNode()))
    const { url } = await fixture.open({ rpc: nodes.map((node) => node.url) })
    const activeFault = applyFault(nodes.slice(0, 1), fault, paymentCase)
    activeFault.begin()
    const payer = await fixture.world.person()
    const { codes } = await buy(url, payer, fixture.world.localnet.rpcUrl, (event) => {
      if (event.kind === 'retrying') activeFault.end()
    })
    expect(codes).toEqual([])
    expect(await paymentsOf(payer)).toBe(1)
    expect(activeFault.met()).toBeGreaterThan(0)
    activeFault.end()
  })
})

/** How many questions of the payer meet the fault: until it has given up once, or for as long as it looks. */
const [short, long] = [3, 40]
const spells: readonly (readonly [title: string, begin: ClientEvent['kind']])[] = [
  ['when the payment is to be sent', 'paying'],
  ['when the payment has been sent', 'sent'],
]
const spoilt = [
  ...spells.flatMap(([when, begin]) =>
    rows.map(([title, fault, states]) => {
      const questions = lies.includes(fault) ? long : short
      return [`${title}, ${when}`, fault, states, begin, questions] as const
    }),
  ),
  ...outages
    .filter(({ title, otherChain }) => otherChain || title.includes('old news'))
    .map((fault) => [`${fault.title}, for long after the payment was sent`, fault, ['faulty'], 'sent', long] as const),
]

describe('a node of the payer', () => {
  it.concurrent.each(cells(spoilt, 4))('%s', async (_title, fault, states, begin, questions) => {
    const nodes = await Promise.all(states.map(() => fixture.fakeNode()))
    const activeFault = applyFault(nodes.slice(0, 1), fault, paymentCase, questions)
    const payer = await fixture.world.person()
    const { codes } = await buy(
      shopUrl,
      payer,
      nodes.map((node) => node.url),
      (event) => {
        if (event.kind === begin && activeFault.met() === 0) activeFault.begin()
      },
    )
    activeFault.end()
    // A payment that was held up for long has really failed, and another is made: nothing else is a reason to.
    // `chain_unavailable`: an attempt during the fault that did not begin a payment.
    expect(['payment_unknown', 'payment_failed', 'chain_unavailable']).toEqual(expect.arrayContaining([...codes]))
    expect(await paymentsOf(payer)).toBe(1)
  })
})

/** Asks until the resource is there, as a program would that reads the errors; tells the codes of those on the way. */
async function buy(
  url: string,
  wallet: KeyPairSigner,
  rpc: string | readonly string[],
  onEvent: (event: ClientEvent) => void,
): Promise<{ readonly codes: readonly string[] }> {
  const journal = createMemoryJournal()
  const codes: string[] = []
  for (;;) {
    try {
      const response = await fetchWith402(`${url}/data`, { wallet, rpc, journal, timeoutMs: 10_000, onEvent })
      expect([response.status, await response.text()]).toEqual([200, 'the secret'])
      return { codes }
    } catch (error) {
      if (!(error instanceof PaymentError) || codes.length > 5) throw error
      codes.push(error.code)
    }
  }
}

async function paymentsOf({ address }: KeyPairSigner): Promise<number> {
  const { world } = fixture
  const account = await world.tokenAccount(address, world.usdc)
  const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [
    account,
    { commitment: 'confirmed' },
  ])
  return Number((funds - BigInt(value.amount)) / price)
}
