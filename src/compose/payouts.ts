/** Connects rewards and refunds to a service. Accruals start with the service; payouts need a key. */
import type { RewardsConfig } from '../api/rewards/option.ts'
import type { PayoutsView } from '../api/rewards/view.ts'
import { readMints } from '../api/router.ts'
import { formatUnits } from '../core/money/money.ts'
import { decimalsIn, hasRates } from '../core/money/rates.ts'
import { findMint, type MintTable, solDecimals, type TokenCode } from '../core/money/tokens.ts'
import type { Books } from '../core/ports/reports.ts'
import type { AccountKey } from '../paywall/config/kinds.ts'
import type { RatesConfig } from '../paywall/config/rates.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'
import type { Loop } from '../workers/loop.ts'
import { type AccrualParts, startAccrual } from '../workers/payouts/accrual.ts'
import type { RewardAuditParts } from '../workers/payouts/audit.ts'
import type { PayoutsParts } from '../workers/payouts/limits.ts'
import type { OutgoingTransactionParts } from '../workers/payouts/outgoing-transactions.ts'
import { createPauseSwitch } from '../workers/payouts/pause.ts'
import { createAddresses } from '../workers/payouts/payees.ts'
import { startPayouts } from '../workers/payouts/payouts.ts'
import { planRefund, type RefundParts, startRefunds } from '../workers/payouts/refunds.ts'
import { type WalletCheckParts, withWalletCheck } from '../workers/payouts/unknown-transactions.ts'
import { type Attachment, attach } from './attach.ts'

export interface PayoutsConfig {
  readonly rewards: RewardsConfig | undefined
  /** The key that sends refunds. */
  readonly refundKey: AccountKey | undefined
  readonly mints: MintTable
  readonly rates: RatesConfig
  /**
   * Whether workers wait after their start until transactions that were signed before can no longer land (default:
   * true). A worker that is killed every second would never pay.
   */
  readonly waits?: boolean
}

/** The dependencies of all outgoing transactions, except the key. */
export interface PayoutContext
  extends Omit<AccrualParts, 'rules'>,
    Omit<OutgoingTransactionParts, 'outgoing' | 'outgoingWallet'>,
    Pick<RewardAuditParts, 'outgoing' | 'addresses' | 'rateJournal'> {
  readonly books: Books
  /** Starts recording rates in the ledger. */
  readonly keepRates: () => void
}

export function createPayoutContext(
  service: Runtime,
  { mints, rates }: Pick<PayoutsConfig, 'mints' | 'rates'>,
): PayoutContext {
  const { chain, clock, clockCheck, log, meter, sealer, pseudonyms, leads } = service
  const { rewards, outgoing, books } = service.ledger
  const createPseudonym = (wallet: Uint8Array): string => pseudonyms.wallet(wallet)
  const feed = service.openRates(rates, mints, 'rewards')
  const decimals = () => decimalsIn(readMints(service, mints))
  const addresses = createAddresses({ chain, nameOf: createPseudonym })
  return {
    ...{ rewards, outgoing, books, addresses, nameOf: createPseudonym, clock, clockCheck, log, meter, sealer, leads },
    rates: () => {
      const table = feed.current()
      if (table.NATIVE === undefined) return undefined
      return { table, source: rates.kind, at: Math.floor(clock.now()), decimals: decimals() }
    },
    ratesAt: async (time, tokens) => {
      const found = await feed.find(time, tokens)
      return hasRates(found.table, tokens) ? { ...found, decimals: decimals() } : undefined
    },
    keepRates: feed.keep,
    rateJournal: service.ledger.rates,
  }
}

/** Starts accruals, payouts and refunds. */
export async function startPayoutWorkers(service: Runtime, config: PayoutsConfig) {
  const context = createPayoutContext(service, config)
  const { rewards, refundKey } = config
  const loops: Loop[] = []
  // Accrual needs no key. Payments that become final before it starts are never shared, so a missing key must not delay
  // it.
  if (rewards) context.keepRates()
  let endCollecting: (() => void) | undefined
  const onStarted = (): void => {
    endCollecting = rewards && service.collect(rewards.rules.collectors)
  }
  const accrual = rewards && startAccrual({ ...context, rules: rewards.rules, onStarted })
  if (accrual) loops.push(accrual)
  const begun: { payouts?: PayoutsParts; refunds?: RefundParts } = {}
  const begin = (option: string, what: string, open: () => Promise<Loop | undefined>): Attachment => {
    const opened = async (): Promise<Loop | undefined> => {
      const loop = await open().catch((error: unknown) => {
        throw new Error(`${option}: ${error instanceof Error ? error.message : 'the key cannot be used'}`)
      })
      if (loop) loops.push(loop)
      return loop
    }
    return attach({ get: () => service }, opened, what)
  }
  const attachments: Attachment[] = []
  if (rewards?.key !== undefined)
    attachments.push(
      begin('rewards.key', 'rewards.start_failed', async () => {
        const payouts = await openPayouts(service, context, { ...config, rewards })
        if (payouts) begun.payouts = payouts
        return payouts && startPayouts(payouts)
      }),
    )
  if (refundKey !== undefined)
    attachments.push(
      begin('refundKey', 'refunds.start_failed', async () => {
        begun.refunds = await openRefunds(service, context, config.mints, refundKey, config.waits)
        return startRefunds(begun.refunds)
      }),
    )
  await Promise.all(attachments.map(({ tried }) => tried))
  return {
    get payouts() {
      return begun.payouts
    },
    get refunds() {
      return begun.refunds
    },
    /** Runs all tasks once, now. */
    run: async () => {
      for (const loop of loops) await loop.run()
    },
    stop: async () => {
      await Promise.all([accrual, ...attachments].map((one) => one?.stop()))
      endCollecting?.()
    },
  }
}

/** The configured outgoing parts of a service. */
export type OpenPayouts = Awaited<ReturnType<typeof startPayoutWorkers>>

/** The part that people can read and order. */
export function createPayoutsView(
  service: Runtime,
  { rewards, refundKey }: Pick<PayoutsConfig, 'rewards' | 'refundKey'>,
  current: () => OpenPayouts | undefined,
): PayoutsView {
  return {
    config: rewards,
    wallet: async () => {
      const payouts = current()?.payouts
      const holdings = await payouts?.outgoingWallet.holdings([payouts.native])
      if (!payouts || !holdings) return undefined
      const native = formatUnits(holdings.units[0] ?? 0n, payouts.native.decimals)
      return { address: payouts.outgoingWallet.wallet, native, sol: formatUnits(holdings.lamports, solDecimals) }
    },
    isPaused: openPause(service),
    refund:
      refundKey === undefined
        ? undefined
        : async (tx, wish) => {
            const refunds = current()?.refunds
            return refunds
              ? planRefund(refunds, tx, wish)
              : { kind: 'refused', why: 'the key is not ready; see the log of this server, then try again' }
          },
  }
}

/** Everything that pays rewards; undefined without a key or without NATIVE. */
export async function openPayouts(
  service: Runtime,
  context: PayoutContext,
  { rewards, mints, waits = true }: Pick<PayoutsConfig, 'mints' | 'waits'> & { readonly rewards: RewardsConfig },
): Promise<PayoutsParts | undefined> {
  const native = findMint('NATIVE', readMints(service, mints))
  if (rewards.key === undefined || !native) return undefined
  const { least, dailyCap, everyMs, dailyFees, fee } = rewards
  const outgoingWallet = await openCheckedWallet(service, rewards.key, fee, waits)
  return {
    ...context,
    outgoingWallet,
    native,
    limits: { least, dailyCap, everyMs, dailyFees, fee },
    isPaused: openPause(service),
  }
}

/**
 * A wallet that sends nothing while the chain has transactions of it that the ledger does not know. Conversions need no
 * such check, because they convert a balance on chain.
 */
async function openCheckedWallet(service: Runtime, key: AccountKey, maxFeeLamports: bigint, waits: boolean) {
  const outgoingWallet = await service.openOutgoingWallet(key, { maxFeeLamports })
  return withWalletCheck(outgoingWallet, createWalletCheckParts(service, outgoingWallet.wallet, waits))
}

/** The dependencies of the comparison of a wallet with the ledger. */
export function createWalletCheckParts(service: Runtime, wallet: string, waits: boolean): WalletCheckParts {
  const { sealer, clock, log, meter } = service
  const { outgoing, kv } = service.ledger
  return { history: service.openWalletHistory(wallet), outgoing, kv, sealer, clock, log, meter, waits }
}

function openPause({ ledger: { kv }, clock }: Runtime): () => Promise<boolean> {
  return createPauseSwitch(kv, clock).isPaused
}

/** Limit of the fee of a refund in lamports: that of a payout, unless it is configured. */
const mostPerRefund = 100_000n

export async function openRefunds(
  service: Runtime,
  context: PayoutContext,
  mints: MintTable,
  key: AccountKey,
  waits = true,
): Promise<RefundParts> {
  const outgoingWallet = await openCheckedWallet(service, key, mostPerRefund, waits)
  const mintFor = (token: TokenCode) => (token === 'SOL' ? null : findMint(token, readMints(service, mints)))
  return { ...context, outgoingWallet, mintOf: mintFor, isPaused: openPause(service) }
}
