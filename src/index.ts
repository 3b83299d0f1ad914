/** The public functions of the package, with their types. */
export { create402Middleware, createPaystile, drain } from './adapters/express.ts'
export type { Paystile } from './adapters/factory.ts'
export { type FrameworkRequest, paymentOf } from './adapters/payment-of.ts'
export type { PaystileRoutes } from './adapters/routes.ts'
export { createPaystileRoutes } from './adapters/routes.ts'
export type { ChargeOptions, EndpointOptions, PaystileOptions } from './api/factory-options.ts'
export type { RoutesOptions } from './api/options.ts'
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
export type { CheckOptions, VerifyOptions } from './compose/check-payment.ts'
export { checkPayment, verifyPayment } from './compose/check-payment.ts'
export { ConfigurationError } from './core/errors/configuration-error.ts'
export { isPaystileError, PaystileError } from './core/errors/paystile-error.ts'
export type { Network, TokenCode } from './core/money/tokens.ts'
export type { RefusalCode } from './core/payment/refusals.ts'
export type { Challenge } from './core/protocol/challenge.ts'
export type { Verdict } from './paywall/claim/check-payment.ts'
export type { PaywallEvent } from './paywall/config/events.ts'
export type { ProviderOptions } from './paywall/config/options.ts'
export type { PaymentFacts } from './paywall/delivery/receipt.ts'
