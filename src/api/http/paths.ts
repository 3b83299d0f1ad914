/**
 * The service's own endpoints. They take precedence over every resource: a route that one of them would hide is refused
 * at start. `/webhooks` is reserved.
 */
export const endpoints = {
  verifyPayment: '/verify-payment',
  payments: '/analytics',
  stream: '/analytics/stream',
  payers: '/analytics/payers',
  problems: '/analytics/problems',
  summary: '/api/analytics',
  overview: '/api/analytics/overview',
  endpoint: '/api/analytics/endpoint',
  payer: '/api/analytics/payer',
  series: '/api/analytics/series',
  export: '/api/analytics/export',
  links: '/api/analytics/links',
  rewards: '/api/rewards',
  payees: '/api/rewards/payees',
  payouts: '/api/rewards/payouts',
  rewardsExport: '/api/rewards/export',
  refunds: '/api/refunds',
  settlement: '/api/settlement',
  sponsor: '/api/sponsor',
  status: '/api/status',
  refusals: '/api/refusals',
  service: '/api/service',
  receipt: '/api/receipt',
  prices: '/api/prices',
  signIn: '/sign-in',
  signOut: '/sign-out',
  deliveries: '/api/webhooks',
  webhooks: '/webhooks',
  dashboard: '/dashboard',
  pay: '/pay',
  faucet: '/faucet',
  facilitator: '/facilitator',
  developers: '/developers',
  openapi: '/openapi.json',
  llms: '/llms.txt',
  wellKnown: '/.well-known/paystile',
  health: '/healthz',
  ready: '/readyz',
  metrics: '/metrics',
} as const

/** Whether a path is one of the service's own endpoints, or below one. */
export function isOwnPath(path: string): boolean {
  return paths.some((own) => path.startsWith(own) && (path.length === own.length || path[own.length] === '/'))
}

/** The same for a service with a front page. */
export function ownPaths(frontPage: string | undefined): (path: string) => boolean {
  return (path) => path === frontPage || isOwnPath(path)
}

/** The address of the front page in links: below the path of the public address. */
export function formatHome(frontPage: string | undefined, publicUrl: string | undefined): string | undefined {
  return frontPage && `${new URL(publicUrl ?? 'http://localhost').pathname.replace(/\/$/, '')}${frontPage}`
}

const paths: readonly string[] = Object.values(endpoints)
