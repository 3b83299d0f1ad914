/**
 * The options of `createPaystile`, and of the `charge` and `routes` that it returns. Each option belongs to one of
 * these calls.
 */
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { type Environment, readConfig } from '../paywall/config/config.ts'
import { type ProviderOptions, providerSchema } from '../paywall/config/options.ts'
import { type RoutesOptions, readRoutesConfig, routesOptionNames } from './options.ts'

type NameOf<Options> = Options extends unknown ? keyof Options : never
type Without<Options, Name extends PropertyKey> = Options extends unknown ? Omit<Options, Name> : never

/** `createPaystile` only: they apply to all routes of the service. */
export const serviceOptions = [
  ...(['recipient', 'network', 'rpc', 'ledger', 'secret', 'service', 'publicUrl', 'seller', 'trustProxy'] as const),
  ...(['mints', 'tokens', 'rates', 'reportToken', 'accountKey', 'sponsor', 'x402', 'mpp', 'watch', 'log'] as const),
  ...(['settlementToken', 'autoConversion', 'conversionThreshold', 'conversionReserve'] as const),
  ...(['settlementKey', 'venue'] as const),
] as const satisfies readonly NameOf<ProviderOptions>[]

/** `charge` only: they describe one route, or count in units of its token. */
export const chargeOptions = [
  ...(['price', 'per', 'size', 'prepay', 'free', 'description', 'endpoint', 'scope'] as const),
  ...(['bind', 'rawBody', 'bodyLimitBytes', 'finalizedFrom', 'maxUnfinalized'] as const),
] as const satisfies readonly NameOf<ProviderOptions>[]

/** `routes` only: they configure the service's own endpoints. */
export const endpointOptions: readonly string[] = routesOptionNames.filter((name) => !(name in providerSchema.shape))

type ServiceOption = (typeof serviceOptions)[number]
type ChargeOption = (typeof chargeOptions)[number]

/** The options that all routes share. Options that `charge` also accepts are its defaults. */
export type PaystileOptions = Without<ProviderOptions, ChargeOption>
/** The price of one route, and its terms of sale. */
export type ChargeOptions = Without<ProviderOptions, ServiceOption>
export type EndpointOptions = Omit<RoutesOptions, ServiceOption>

type Call = 'createPaystile' | 'charge' | 'routes'

/** The options of `createPaystile`, made into those of paywalls and of the service's own endpoints. */
export interface FactoryOptions {
  forCharge(options: ChargeOptions): ProviderOptions
  forRoutes(options: EndpointOptions): RoutesOptions
}

/** Throws a `ConfigurationError` with everything wrong about the shared options, before any route is charged. */
export function readSharedOptions(options: PaystileOptions, environment: Environment): FactoryOptions {
  const shared = dropUndefined(options)
  // A placeholder for the prices of the routes.
  check('createPaystile', shared, (rest) => readConfig({ ...rest, price: 1 }, environment))
  const service = Object.fromEntries(Object.entries(shared).filter(([name]) => routesOptionNames.includes(name)))
  const join = (route: ChargeOptions): ProviderOptions => {
    return { ...shared, ...route, retired: { ...shared.retired, ...route.retired } }
  }
  return {
    forCharge: (given) => {
      const route = dropUndefined(given)
      check('charge', route, (rest) => readConfig(join(rest), environment))
      return join(route)
    },
    forRoutes: (given) => {
      check('routes', given, (rest) => readRoutesConfig({ ...service, ...rest }, environment))
      return { ...service, ...given }
    },
  }
}

/** Throws one `ConfigurationError` for misplaced options and all problems of the others. */
function check<Options extends object>(call: Call, options: Options, read: (rest: Options) => unknown): void {
  const problems: string[] = []
  const rest = Object.entries(options).filter(([name, value]) => {
    const place = findPlace(name)
    const isMisplaced = value !== undefined && place !== undefined && place !== call
    if (isMisplaced) problems.push(`${name}: belongs to ${place}, not to ${call}; move it there`)
    return !isMisplaced
  })
  try {
    read(Object.fromEntries(rest) as Options)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    problems.push(...error.problems)
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
}

/** Undefined for options of both `createPaystile` and `charge`, and for unknown names. */
function findPlace(name: string): Call | undefined {
  const includes = (names: readonly string[]): boolean => names.includes(name)
  if (includes(serviceOptions)) return 'createPaystile'
  if (includes(chargeOptions)) return 'charge'
  return includes(endpointOptions) ? 'routes' : undefined
}

/** Removes undefined options, so that they do not hide a default. */
function dropUndefined<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as Options
}
