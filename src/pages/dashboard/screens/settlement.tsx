/** The conversion of received tokens into the settlement token: balances against thresholds, and conversions. */
import type { ComponentProps } from 'preact'
import { formatAmount, formatPercent, formatRounded, formatShare } from '../../look/amounts.ts'
import { compareDecimals, computeRatio, subtractDecimal } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { Bar } from '../charts/bars.tsx'
import { useAnswer } from '../data/answer.ts'
import { formatPath } from '../data/ask.ts'
import type { Conversion, Settlement as SettlementAnswer, SettlementWallet } from '../data/outgoing.ts'
import { usePulse } from '../data/pulse.ts'
import { Card } from '../elements/card.tsx'
import { Name } from '../elements/cells.tsx'
import { Command, CopyButton } from '../elements/copy.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Pages, useTurning } from '../elements/pager.tsx'
import { Notice, When } from '../elements/states.tsx'
import { ConversionDrawer, ConversionsTable } from '../tables/conversions.tsx'
import { SponsorCards } from '../tables/sponsor.tsx'
import { ScreenHead } from './shell.tsx'

const everyMs = 5_000

export function Settlement() {
  const turning = useTurning()
  const pulse = usePulse(turning.cursor === undefined ? everyMs : 0)
  const path = formatPath('/api/settlement', { limit: 25, cursor: turning.cursor })
  const loaded = useAnswer<SettlementAnswer>(path, { follows: pulse })
  const { value } = loaded
  const isBare = !value || isEmpty(value)
  return (
    <>
      <ScreenHead title="Settlement">
        {!isBare && <CsvButton name="conversions" rows={() => createCells(value.conversions)} />}
      </ScreenHead>
      <div class={value ? undefined : 'card'}>
        <When loaded={loaded} lines={8}>
          {(settlement) => (
            <div class="stack">
              {isEmpty(settlement) ? (
                <div class="card">
                  <Off />
                </div>
              ) : (
                <Conversions settlement={settlement} pages={turning.pages(settlement.next)} />
              )}
              <SponsorCards sponsor={settlement.sponsor} />
            </div>
          )}
        </When>
      </div>
    </>
  )
}

interface ConversionsProps {
  readonly settlement: SettlementAnswer
  readonly pages: ComponentProps<typeof Pages>
}

function Conversions({ settlement, pages }: ConversionsProps) {
  return (
    <>
      {settlement.paused && (
        <div class="note note-warn" role="status">
          <p>
            <b>Conversions are paused on all servers, with payouts and refunds.</b> To resume:
          </p>
          <Command text="npx paystile rewards resume" />
        </div>
      )}
      {settlement.wallets.map((wallet) => (
        <Wallet key={wallet.wallet} wallet={wallet} open={openIn(settlement, wallet)} />
      ))}
      <Card id="conversions" title="Conversions">
        {settlement.conversions.length === 0 ? (
          <Notice title="No conversions yet">
            <p>The first conversion starts when a balance reaches its threshold.</p>
          </Notice>
        ) : (
          <>
            <ConversionsTable conversions={settlement.conversions} />
            <Pages {...pages} />
          </>
        )}
      </Card>
      <ConversionDrawer conversions={settlement.conversions} />
    </>
  )
}

/** Settlement is off, and the service has no conversions. */
function isEmpty({ isOn, conversions }: SettlementAnswer): boolean {
  return !isOn && conversions.length === 0
}

function Off() {
  return (
    <Notice title="Conversion is off">
      <p>
        Payments stay in the token that the payer used. Set <code>settlementToken</code> and <code>autoConversion</code>{' '}
        to convert them; <code>docs/settlement.md</code> says how.
      </p>
    </Notice>
  )
}

function createCells(conversions: readonly Conversion[]): readonly (readonly string[])[] {
  const names = ['at', 'changedAt', 'id', 'state', 'tx', 'venue'] as const
  const columns = [...names, 'sell', 'amount', 'sold', 'buy', 'quoted', 'minimum', 'received'] as const
  return [columns, ...conversions.map((one) => columns.map((column) => one[column] ?? ''))]
}

/** Tokens of a wallet that are being converted, among the latest conversions. */
function openIn({ conversions }: SettlementAnswer, { wallet }: SettlementWallet): ReadonlySet<string> {
  const open = conversions.filter((one) => one.wallet === wallet && (one.state === 'planned' || one.state === 'signed'))
  return new Set(open.map(({ sell }) => sell))
}

interface WalletProps {
  readonly wallet: SettlementWallet
  readonly open: ReadonlySet<string>
}

function Wallet({ wallet: { wallet, settlementToken, venue, isServed, slippage, tokens }, open }: WalletProps) {
  const locale = pageLocale()
  return (
    <section class="card" aria-label={`Balances to convert into ${settlementToken}`}>
      <header class="card-head">
        <h2>Into {settlementToken}</h2>
        <span class="card-aside muted">
          <Name text={wallet} />
          <CopyButton text={wallet} what="the wallet" />
        </span>
      </header>
      {!isServed && (
        <div class="note note-warn" role="alert">
          <p>
            <b>No process converts for this wallet.</b> Balances grow until a process with its key runs.
          </p>
          <Command text="npx paystile worker" />
        </div>
      )}
      <ul class="bars">
        {tokens.map((one) => (
          <TokenBar key={one.token} one={one} isOpen={open.has(one.token)} />
        ))}
      </ul>
      <p class="card-note muted">
        {venue === null ? 'Another process converts' : `Through ${venues[venue] ?? venue}`}, for at most{' '}
        {formatPercent(Number(slippage) / 100, locale)} less than quoted. Checked every few seconds.
      </p>
    </section>
  )
}

const venues: Readonly<Record<string, string>> = { rfq: 'a desk (rfq)', jupiter: 'Jupiter' }

interface TokenBarProps {
  readonly one: SettlementWallet['tokens'][number]
  readonly isOpen: boolean
}

function TokenBar({ one: { token, balance, kept, threshold }, isOpen }: TokenBarProps) {
  const locale = pageLocale()
  const left = balance === null ? undefined : subtractDecimal(balance, kept)
  const ready = left === undefined || compareDecimals(left, '0') > 0 ? left : '0'
  const share = ready === undefined || threshold === null ? undefined : computeRatio(ready, threshold)
  const isDue = share !== undefined && share >= 1
  const said = isOpen
    ? 'Being converted now'
    : share === undefined
      ? 'Progress is not available now'
      : isDue
        ? 'Conversion starts in a moment'
        : `${formatShare(share, locale)} of the way to the next conversion`
  return (
    <li>
      <span class="bars-name">{token}</span>
      <span class="bars-figure" title={ready === undefined ? undefined : `${ready} ${token}`}>
        {ready === undefined ? '–' : formatRounded(ready, locale)}{' '}
        <span class="unit">
          of {threshold === null ? '–' : formatRounded(threshold, locale)} {token}
        </span>
      </span>
      <Bar share={share ?? 0} tone={token.toLowerCase()} />
      <span class="bars-hint muted">
        {said}
        {compareDecimals(kept, '0') > 0 && ` · ${formatAmount(kept, locale)} ${token} are retained`}
      </span>
    </li>
  )
}
