/** What is told of conversion: balances against thresholds, and what was quoted against what came. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import * as answers from '../../src/api/rewards/answers.ts'
import { noSettlement, readSettlement, type SettlementView } from '../../src/api/rewards/settlement.ts'
import type { Wallet } from '../../src/chain/keys/keypair.ts'
import { openHandle, openPaywall } from '../../src/compose/paywall.ts'
import { createSettlementView } from '../../src/compose/settlement/view.ts'
import { knownMints } from '../../src/core/money/tokens.ts'
import { formatConversion, formatConversionLockKey, settlementBeats } from '../../src/core/payouts/conversion.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { readConfig } from '../../src/paywall/config/config.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { signedBy } from '../ledger/payables-fixture.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'
import { openTrade, quiet, type Trade } from '../venues/venue-fixture.ts'
import { signatureOf } from './paid-out.ts'

let trade: Trade
let ledger: Ledger
let wallet: Wallet
beforeAll(async () => {
  trade = await openTrade()
})
afterAll(() => trade.close())
beforeEach(async () => {
  wallet = await trade.taker()
  ledger = createReferenceLedger({ clock: trade.clock })
})
afterEach(() => ledger.close())

const dispatchesOf = () => {
  const { outgoing } = ledger
  if (!outgoing) throw new Error('the ledger keeps too little')
  return outgoing
}
const read = async (settlement: SettlementView, query: Parameters<typeof readSettlement>[1] = { limit: 50 }) =>
  answers.settlement.parse(
    await readSettlement(
      { outgoing: dispatchesOf(), mints: () => knownMints.localnet, isPaused: async () => false, settlement },
      query,
    ),
  )
/** Sells 2 SOL for 300 USDC as it was quoted. */
const convert = async (index: number, received?: bigint) => {
  const about = {
    ...({ wallet: wallet.address, sell: 'SOL', buy: 'USDC', venue: 'rfq' } as const),
    ...{ units: 2_000_000_000n, quoted: 300_000_000n, minimum: 298_500_000n },
  }
  const outgoing = dispatchesOf()
  const planning = await outgoing.plan({
    id: `conversion-${index}`,
    kind: 'conversion',
    lockKey: formatConversionLockKey(wallet.address, 'SOL'),
    about: formatConversion(about),
    lines: [],
  })
  if (planning.kind !== 'planned') throw new Error(planning.kind)
  const kept = { signature: signatureOf(index), lastValidBlockHeight: 9, slot: 5, sealed: 'sealed' }
  const signed = signedBy(await outgoing.sign(planning.transaction.id, planning.transaction.version, kept))
  if (received === undefined) return
  const told = formatConversion({ ...about, sold: 2_000_005_000n, received })
  await outgoing.land(signed.id, signed.version, 77, told)
}

describe('GET /api/settlement', () => {
  it('says that nothing is converted where nothing is', async () => {
    expect(await read(noSettlement)).toEqual({ isOn: false, paused: false, wallets: [], conversions: [], next: null })
  })

  it('shows quotes, minimums and received amounts, the latest first and page by page', async () => {
    await convert(1, 299_400_000n)
    trade.clock.move(1_000)
    await convert(2)
    const first = await read(noSettlement, { limit: 1 })
    expect(first.conversions).toMatchObject([
      { id: 'conversion-2', state: 'signed', tx: signatureOf(2), sold: null, received: null, quoted: '300' },
    ])
    const [at = '', id = ''] = (first.next ?? '').split('~')
    const second = await read(noSettlement, { limit: 1, cursor: { at: Number(at), id } })
    expect(second.next).toBeNull()
    expect(second.conversions).toMatchObject([
      {
        ...{ id: 'conversion-1', state: 'landed', slot: 77, venue: 'rfq', sell: 'SOL', buy: 'USDC', amount: '2' },
        ...{ quoted: '300', minimum: '298.5', sold: '2.000005', received: '299.4' },
      },
    ])
  })

  it('skips unreadable rows, and shows the rest', async () => {
    const lockKey = formatConversionLockKey(wallet.address, 'NATIVE')
    await dispatchesOf().plan({ id: 'odd', kind: 'conversion', lockKey, about: '{}', lines: [] })
    await convert(3, 300_000_000n)
    expect((await read(noSettlement)).conversions.map(({ id }) => id)).toEqual(['conversion-3'])
  })
})

describe('the state of this process', () => {
  const options = (more: Partial<ProviderOptions> = {}): ProviderOptions => ({
    price: 0.01,
    token: 'USDC',
    network: 'localnet',
    rpc: trade.world.localnet.rpcUrl,
    recipient: wallet.address,
    acceptedMints: ['USDC', 'NATIVE', 'SOL'],
    settlementToken: 'USDC',
    autoConversion: true,
    conversionThreshold: { NATIVE: 5_000 },
    conversionReserve: { SOL: 9.5 },
    secret: '1:a-test-secret-of-at-least-32-characters',
    ledger,
    log: quiet,
    watch: false,
    ...more,
  })
  const viewFor = async (more: Partial<ProviderOptions>) => {
    const paywall = openPaywall(options(more))
    onTestFinished(() => paywall.close())
    await paywall.ready()
    const handle = openHandle(readConfig(options(more), {}).service, quiet)
    onTestFinished(() => handle.release())
    return { view: createSettlementView(await handle.get()), paywall }
  }

  it('shows the next work of its own worker: balances, reserves and the next threshold', async () => {
    // Half a SOL beyond what is kept is worth more than ten USDC, so only its threshold says that it waits.
    const more = { conversionThreshold: { NATIVE: 5_000, SOL: 3 } }
    const venue = { kind: 'rfq', url: trade.url } as const
    const { view, paywall } = await viewFor({ ...more, settlementKey: wallet, venue })
    const told = await read(view)
    expect(told).toMatchObject({ isOn: true, conversions: [] })
    expect(told.wallets).toEqual([
      {
        ...{ wallet: wallet.address, settlementToken: 'USDC', venue: 'rfq', isServed: true, slippage: '0.5' },
        tokens: [
          { token: 'NATIVE', balance: '1000', kept: '0', threshold: '5000' },
          { token: 'SOL', balance: '10', kept: '9.5', threshold: '3' },
        ],
      },
    ])
    await paywall.close()
    expect((await read(view)).wallets).toEqual([])
  })

  it('is less where another process converts: no balance, and whether that one lives', async () => {
    const name = `${settlementBeats(wallet.address)}1`
    await ledger.kv?.put(name, '1', trade.clock.now() + 600_000)
    const { view } = await viewFor({})
    const [told] = (await read(view)).wallets
    expect(told).toMatchObject({ venue: null, isServed: true })
    // Without a threshold of its own it is the worth of ten USDC.
    expect(told?.tokens).toMatchObject([
      { token: 'NATIVE', balance: null, threshold: '5000' },
      { token: 'SOL', balance: null, threshold: expect.stringMatching(/^0\.0\d+$/) },
    ])
    await ledger.kv?.remove(name)
    expect((await read(view)).wallets).toMatchObject([{ isServed: false }])
  })
})
