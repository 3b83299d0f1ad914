/** Split payments in the rest of the service: verification, fees of mints, reports and refunds. */
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatPayment } from '../../src/api/analytics/format.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import { checkPayment } from '../../src/compose/check-payment.ts'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import { judgeRefund } from '../../src/core/payouts/refunds.ts'
import { readKeyring } from '../../src/core/protocol/keyring.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { memo } from '../harness/localnet-fixture.ts'
import { createMint, extensions, mintTo } from '../harness/mint.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'

const secret = `1:${'s'.repeat(32)}`
let fixture: ShopFixture
let partner: KeyPairSigner
beforeAll(async () => {
  fixture = await createShopFixture()
  partner = await fixture.world.person()
})
afterAll(() => fixture.close())

async function openLedgerOf(path: string, service: string) {
  const reading = readKeyring(secret)
  if (reading.kind !== 'keyring') throw new Error(reading.why)
  const { fingerprint } = reading.keyring
  return openLedger(path, { clock: createWallClock(), identity: { network: 'localnet', service, fingerprint } })
}

describe('a payment with splits', () => {
  it('is verified with all its parts, and shown and refunded by the part of the recipient', async () => {
    const { world, payer } = fixture
    const ledger = `sqlite:${join(fixture.directory, 'splits.sqlite')}`
    const shop = await fixture.open({
      ...{ ledger, secret, service: 'splits' },
      splits: [{ recipient: partner.address, share: 10 }],
    })
    const pay = async (parts: readonly (readonly [string, bigint])[]) => {
      const { requestId } = await shop.challenge()
      const transfers = await Promise.all(parts.map(([to, units]) => world.transfer(payer, to, 'USDC', units)))
      return { tx: await world.send([memo(requestId), ...transfers], payer), requestId }
    }
    const full = await pay([
      [world.recipient.address, 9_000n],
      [partner.address, 1_000n],
    ])
    const whole = await pay([[world.recipient.address, 10_000n]])
    const options = { network: 'localnet', rpc: world.localnet.rpcUrl, ledger, secret, service: 'splits' } as const
    const sum = { recipient: world.recipient.address, amount: '0.01', mint: 'USDC' } as const
    for (const expectation of [options, { ...options, ...sum }]) {
      expect(await checkPayment(full.tx, full.requestId, expectation)).toMatchObject({ valid: true, received: '0.009' })
      expect(await checkPayment(whole.tx, whole.requestId, expectation)).toMatchObject({ code: 'underpaid' })
    }
    const proof = `tx=${full.tx}; requestId=${full.requestId}; payer=${payer.address}`
    expect((await shop.claim(proof)).status).toBe(200)
    const books = await openLedgerOf(ledger, 'splits')
    fixture.defer(() => books.close())
    const history = await books.books.history(decodeSignature(full.tx) ?? new Uint8Array())
    if (!history) throw new Error('the payment is not in the books')
    expect(formatPayment(history.payment, () => 6, 'USDC')).toMatchObject({
      amount: '0.009',
      worth: '0.009',
      splits: `0.001 ${partner.address}`,
    })
    const undelivered = { ...history.payment, state: 'finalized', delivery: 'none' } as const
    const ruling = judgeRefund({ payment: undelivered, required: history.required }, 0)
    expect(ruling).toEqual({ kind: 'refundable', reason: 'undelivered', units: 9_000n, voids: true, coversUse: false })
    expect(await books.books.audit()).toEqual([])
  })

  it('reaches every wallet in full if the mint takes a fee', async () => {
    const { world, payer } = fixture
    const mint = await createMint(world, payer, {
      extensions: [extensions.transferFee(100, payer.address)],
      decimals: 6,
    })
    const wallets = [world.recipient.address, partner.address]
    await mintTo(world, mint, payer, {
      [payer.address]: 100_000_000n,
      ...Object.fromEntries(wallets.map((wallet) => [wallet, 0n])),
    })
    const shop = await fixture.open({
      ...{ token: 'NATIVE', price: '1', mints: { NATIVE: mint }, waitSeconds: 5 },
      splits: [{ recipient: partner.address, share: '33.33' }],
    })
    const options = { wallet: payer, rpc: world.localnet.rpcUrl, journal: createMemoryJournal() }
    const response = await fetchWith402(`${shop.url}/data`, { ...options, mints: { NATIVE: mint } })
    expect([response.status, await response.text()]).toEqual([200, 'the secret'])
    const received = await Promise.all(
      wallets.map(async (wallet) => {
        const data = world.localnet.getAccount(await world.tokenAccount(wallet, mint))?.data ?? new Uint8Array(72)
        return new DataView(data.buffer, data.byteOffset).getBigUint64(64, true)
      }),
    )
    expect(received).toEqual([666_700n, 333_300n])
  })
})
