/** The outgoing wallet of the rewards, its balance, and its shortfall. */
import { formatRounded } from '../../look/amounts.ts'
import { compareDecimals, subtractDecimal } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import type { Rewards } from '../data/outgoing.ts'
import { Command, IdLine } from '../elements/copy.tsx'
import { AmountFact } from '../elements/fact.tsx'

/** Enough for some thousand fees, or for the rent of a few token accounts. */
const littleSol = '0.01'

interface PayingWalletProps {
  readonly wallet: Rewards['wallet']
  /** The amount due, and the amount that is planned but not sent. */
  readonly due: string
  readonly threshold: string | null
}

export function PayingWallet({ wallet, due, threshold }: PayingWalletProps) {
  const locale = pageLocale()
  if (!wallet)
    return (
      <div class="card-text">
        <p>This server has no payout key. Another server or a worker with the key must pay, on the same ledger.</p>
        <Command text="npx paystile worker" />
      </div>
    )
  const missing = subtractDecimal(due, wallet.native)
  const isShort = compareDecimals(missing, '0') > 0
  return (
    <>
      {isShort && (
        <p class="note note-warn" role="alert">
          <b>The balance is too low for the due payouts.</b> Send at least {formatRounded(missing, locale)} NATIVE to
          this wallet: payouts wait for it.
        </p>
      )}
      {compareDecimals(wallet.sol, littleSol) < 0 && (
        <p class="note note-warn" role="alert">
          <b>The SOL balance is low.</b> SOL pays for fees and new token accounts. Send some.
        </p>
      )}
      <dl class="facts card-text">
        <IdLine name="Wallet" text={wallet.address} />
        <AmountFact name="Holds" amount={wallet.native} token="NATIVE" />
        <AmountFact name="For fees" amount={wallet.sol} token="SOL" />
        {threshold !== null && <AmountFact name="Minimum" amount={threshold} token="NATIVE" />}
      </dl>
    </>
  )
}
