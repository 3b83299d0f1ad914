/** The options of `createPaystile`, and of the `charge` and `routes` that it returns. Each option has its place. */
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import type { Environment } from '../paywall/config/config.ts'
import { readConfig } from '../paywall/config/config.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import { providerSchema } from '../paywall/config/options.ts'
import type { RoutesOptions } from './options.ts'
import { routesOptionNames } from './options.ts'

type NameOf<Options> = Options extends unknown ? keyof Options : never
type Without<Options, Name extends PropertyKey> = Options extends unknown ? Omit<Options, Name> : never

/** `createPaystile` only: they hold for all routes of the service. */
export const serviceOptions = [
  ...(['recipient', 'network', 'rpc', 'ledger', 'secret', 'service', 'publicUrl', 'trustProxy'] as const),
  ...(['mints', 'rates', 'reportToken', 'accountKey', 'watch', 'log'] as const),
  ...(['settlementToken', 'autoConversion', 'conversionThreshold', 'conversionReserve'] as const),
  ...(['settlementKey', 'venue'] as const),
] as const satisfies readonly NameOf<ProviderOptions>[]

/** `charge` only: they describe one route, or count in units of its token. */
export const chargeOptions = [
  ...(['price', 'per', 'size', 'prepay', 'free', 'description', 'endpoint', 'scope'] as const),
  ...(['bind', 'rawBody', 'bodyLimitBytes', 'finalizedFrom', 'maxUnfinalized'] as const),
] as const satisfies readonly NameOf<ProviderOptions>[]

/** `routes` only: they are about the service's own endpoints. */
export const endpointOptions: readonly string[] = routesOptionNames.filter((name) => !(name in providerSchema.shape))

type ServiceOption = (typeof serviceOptions)[number]
type ChargeOption = (typeof chargeOptions)[number]
interface DefaultToken {
  /** The token that prices are in. Default USDC. */
  readonly token?: ProviderOptions['token']
}

/** What all routes share. Options that `charge` takes too are its defaults. */
export type PaystileOptions = Without<ProviderOptions, ChargeOption | 'token'> & DefaultToken
/** What one route costs, and how it is sold. */
export type ChargeOptions = Without<ProviderOptions, ServiceOption | 'token'> & DefaultToken
export type EndpointOptions = Omit<RoutesOptions, ServiceOption>

type Call = 'createPaystile' | 'charge' | 'routes'

/** The options of `createPaystile`, made into those of paywalls and of the service's own endpoints. */
export interface SharedOptions {
  forCharge(options: ChargeOptions): ProviderOptions
  forRoutes(options: EndpointOptions): RoutesOptions
}

/** Throws a `ConfigurationError` with everything wrong about the shared options, before any route is charged. */
export function readSharedOptions(options: PaystileOptions, environment: Environment): SharedOptions {
  checkPlaces('createPaystile', options)
  const shared = { token: 'USDC', ...dropUndefined(options) } as const
  // A price stands in for those of the routes, so that the rest is checked now.
  readConfig({ ...shared, price: 1 }, environment)
  const service = Object.fromEntries(Object.entries(shared).filter(([name]) => routesOptionNames.includes(name)))
  return {
    forCharge: (given) => {
      checkPlaces('charge', given)
      const route = dropUndefined(given)
      const retired = { ...shared.retired, ...route.retired }
      return { ...shared, ...route, retired }
    },
    forRoutes: (given) => {
      checkPlaces('routes', given)
      return { ...service, ...given }
    },
  }
}

function checkPlaces(call: Call, options: object): void {
  const problems = Object.keys(dropUndefined(options)).flatMap((name) => {
    const place = findPlace(name)
    return place === undefined || place === call ? [] : [`${name}: is an option of ${place}, not of ${call}`]
  })
  if (problems.length > 0) throw new ConfigurationError(problems)
}

/** Undefined for options that `createPaystile` and `charge` both take, and for names that are no options. */
function findPlace(name: string): Call | undefined {
  const includes = (names: readonly string[]): boolean => names.includes(name)
  if (includes(serviceOptions)) return 'createPaystile'
  if (includes(chargeOptions)) return 'charge'
  return includes(endpointOptions) ? 'routes' : undefined
}

/** An option that is undefined is left out, so that it does not hide a default. */
function dropUndefined<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as Options
}
