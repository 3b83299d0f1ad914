/** The dependencies of the service's own endpoints, and the context of a request to one of them. */
import type { Facilitator } from '../paywall/claim/facilitate.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'
import type { WebhooksView } from './analytics/webhooks.ts'
import type { SignIn } from './auth/sign-in.ts'
import type { Developers } from './developers/developers.ts'
import type { Exports } from './exports/routes.ts'
import type { RoutesConfig } from './options.ts'
import type { Dashboard } from './public/dashboard.ts'
import type { Faucet } from './public/faucet.ts'
import type { PayRoute } from './public/pay.ts'
import type { SettlementView } from './rewards/settlement.ts'
import type { PayoutsView } from './rewards/view.ts'
import type { PriceEditor } from './screens/prices.ts'
import type { UpstreamState } from './screens/service.ts'

/** The parts of a gateway that the dashboard shows. */
export interface GatewayView {
  readonly upstreams: () => readonly UpstreamState[]
  /** Undefined if prices cannot be edited. */
  readonly prices?: PriceEditor | undefined
}

export interface RoutesParts
  extends Pick<RoutesConfig, 'mints' | 'owners' | 'trustProxy' | 'publicUrl' | 'hasOpenMetrics'> {
  readonly service: Runtime
  /** The receivers of payment events. */
  readonly webhooks?: WebhooksView | undefined
  readonly seller?: RoutesConfig['seller']
  /** The path of the front page. Undefined without one. */
  readonly frontPage?: RoutesConfig['frontPage']
  /** Undefined if the ledger has no key-value store. */
  readonly signIn?: SignIn | undefined
  /** Undefined if the ledger has no key-value store or no books. */
  readonly exports?: Exports | undefined
  readonly faucet?: Faucet | undefined
  /** Undefined if no verification is possible: the ledger keeps no rewards, or the rules name no host. */
  readonly developers?: Developers | undefined
  readonly dashboard?: Dashboard | undefined
  readonly pay?: PayRoute | undefined
  /** Undefined if this process sends no transactions. */
  readonly moneyOut?: PayoutsView | undefined
  /** Undefined if no received token is converted. */
  readonly settlement?: SettlementView | undefined
  /** Undefined if the service settles no payments for other servers. */
  readonly facilitator?: Facilitator | undefined
  /** Undefined if the service is no gateway. */
  readonly gateway?: GatewayView | undefined
}
