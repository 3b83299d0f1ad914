/** What the service's own addresses are made of, and what a request to one of them brings along. */
import type { MintTable } from '../core/money/tokens.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'
import type { SignIn } from './auth/sign-in.ts'
import type { Developers } from './developers/developers.ts'
import type { Exports } from './exports/routes.ts'
import type { Dashboard } from './public/dashboard.ts'
import type { Faucet } from './public/faucet.ts'
import type { PayRoute } from './public/pay.ts'
import type { SettlementView } from './rewards/settlement.ts'
import type { PayoutsView } from './rewards/view.ts'

export interface RoutesParts {
  readonly service: Runtime
  /** Beside those that are known and those of what is sold. */
  readonly mints: MintTable
  /** Wallets that may read. Undefined for the recipients. */
  readonly owners: readonly string[] | undefined
  readonly trustProxy: number
  readonly publicUrl: string | undefined
  /** Whether anybody may read metrics. */
  readonly hasOpenMetrics: boolean
  /** Missing where the ledger has no shelf. */
  readonly signIn?: SignIn | undefined
  /** Missing where the ledger has no shelf or keeps no books. */
  readonly exports?: Exports | undefined
  readonly faucet?: Faucet | undefined
  /** Missing where nobody can be verified: the ledger keeps no rewards, or no host is named. */
  readonly developers?: Developers | undefined
  readonly dashboard?: Dashboard | undefined
  readonly pay?: PayRoute | undefined
  /** Missing where this process sends nothing out. */
  readonly moneyOut?: PayoutsView | undefined
  /** Missing where nothing that is sold here is converted. */
  readonly settlement?: SettlementView | undefined
}
