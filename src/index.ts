/** SPEC.md's helpers, and the types that go with them. */
export { create402Middleware, drain } from './adapters/express.ts'
export type { PaystileRoutes } from './adapters/routes.ts'
export { createPaystileRoutes } from './adapters/routes.ts'
export type {
  AgentWallet,
  AgentWalletOptions,
  AnalyticsOptions,
  AnalyticsSummary,
  ClientEvent,
  ClientOptions,
  PaymentOffer,
  Wallet,
} from './client/index.ts'
export { AnalyticsError, fetchWith402, getAnalytics, initAgentWallet, PaymentError } from './client/index.ts'
export type { Challenge } from './core/challenge.ts'
export { ConfigurationError } from './core/configuration-error.ts'
export type { RefusalCode } from './core/errors.ts'
export type { Network, TokenCode } from './core/network.ts'
export type { CheckOptions, VerifyOptions } from './server/assemble-verdict.ts'
export { checkPayment, verifyPayment } from './server/assemble-verdict.ts'
export type { PaywallEvent } from './server/events.ts'
export type { ProviderOptions } from './server/options.ts'
export type { PaymentFacts } from './server/pass.ts'
export { paymentOf } from './server/passing.ts'
export type { Verdict } from './server/verdict.ts'
export type { RoutesOptions } from './service/options.ts'
