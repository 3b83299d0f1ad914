/**
 * Connects the settlement worker to a service. This process converts a recipient's tokens if it has the recipient's
 * key. Otherwise another process must show in the ledger's key-value store that it does.
 */
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { findDecimals, findMint, isKnownCode, type MintTable, type TokenCode } from '../../core/money/tokens.ts'
import { type ConversionRules, settlementBeats } from '../../core/payouts/conversion.ts'
import type { Venue } from '../../core/payouts/venue.ts'
import type { Log } from '../../core/runtime.ts'
import type { RouteConfig } from '../../paywall/config/config.ts'
import type { ConversionConfig } from '../../paywall/config/conversion.ts'
import type { ServiceHandle } from '../../paywall/paywall.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import type { Loop } from '../../workers/loop.ts'
import { createPauseSwitch } from '../../workers/payouts/pause.ts'
import { type Converter, startSettlement } from '../../workers/payouts/settlement.ts'
import { withPreparation } from '../attach.ts'

type Converting = Pick<RouteConfig, 'recipient' | 'mints' | 'rates' | 'conversion'>

/**
 * A service that starts only if some process performs the conversions of its route. Until then requests get the reason.
 */
export function withSettlement(handle: ServiceHandle, route: Converting, log: Log): ServiceHandle {
  const { conversion } = route
  if (!conversion) return handle
  return withPreparation(handle, async (service) => {
    try {
      return await begin(service, route, conversion)
    } catch (error) {
      log.error('settlement.start_failed', { why: error instanceof Error ? error.message : String(error) })
      throw error
    }
  })
}

/** Starts the conversion, or checks that another process performs it. The returned function ends it. */
async function begin(service: Runtime, route: Converting, conversion: ConversionConfig): Promise<() => Promise<void>> {
  if (conversion.key !== undefined)
    return share(service, route, conversion, () => openConverting(service, route, conversion))
  if (await isConvertedElsewhere(service, route.recipient))
    return share(service, route, conversion, async () => ({ converter: undefined, loop: undefined }))
  const { tokens, settlementToken } = conversion.rules
  throw new ConfigurationError([
    `autoConversion: no worker converts what ${route.recipient} receives in ${tokens.join(' and ')} into ${settlementToken}; ` +
      'set its key as settlementKey, or run npx paystile worker with that key on the same ledger',
  ])
}

export async function isConvertedElsewhere({ ledger }: Runtime, recipient: string): Promise<boolean> {
  return (await ledger.kv.list(settlementBeats(recipient))).length > 0
}

/** `converter` is undefined if another process converts. */
interface Opened {
  readonly converter: Converter | undefined
  readonly loop: Loop | undefined
}

interface Shared {
  users: number
  readonly route: Converting
  readonly conversion: ConversionConfig
  readonly opened: Promise<Opened>
}

const running = new WeakMap<Runtime, Map<string, Shared>>()

/** Routes with the same recipient and the same rules share one worker. */
async function share(
  service: Runtime,
  route: Converting,
  conversion: ConversionConfig,
  open: () => Promise<Opened>,
): Promise<() => Promise<void>> {
  const workers = running.get(service) ?? new Map<string, Shared>()
  running.set(service, workers)
  const name = nameConversionWorker(route, conversion)
  const shared = workers.get(name) ?? { users: 0, route, conversion, opened: open() }
  workers.set(name, shared)
  shared.users += 1
  const leave = async (): Promise<void> => {
    shared.users -= 1
    if (shared.users > 0) return
    if (workers.get(name) === shared) workers.delete(name)
    await (await shared.opened.catch(() => undefined))?.loop?.stop()
  }
  try {
    await shared.opened
  } catch (error) {
    await leave()
    throw error
  }
  return leave
}

/** A converting route of this process, with the converter if this process has it. */
export interface Converted {
  readonly route: Converting
  readonly conversion: ConversionConfig
  readonly converter: Converter | undefined
}

export async function convertedIn(service: Runtime): Promise<readonly Converted[]> {
  const all = [...(running.get(service)?.values() ?? [])].map(
    async ({ route, conversion, opened }): Promise<Converted[]> => {
      const { converter } = await opened
      return [{ route, conversion, converter }]
    },
  )
  return (await Promise.all(all.map((one) => one.catch(() => [])))).flat()
}

/** Equal for routes that can share a worker. */
export function nameConversionWorker({ recipient }: Converting, { rules, venue, key }: ConversionConfig): string {
  const plain = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)
  return JSON.stringify([recipient, rules, venue, key !== undefined], plain)
}

/** Starts the conversion of a recipient's tokens. Throws a `ConfigurationError` if it is not possible. */
export async function startConversion(
  service: Runtime,
  route: Converting,
  conversion: ConversionConfig,
): Promise<Loop> {
  return (await openConverting(service, route, conversion)).loop
}

async function openConverting(service: Runtime, route: Converting, conversion: ConversionConfig) {
  const converter = await openConverter(service, route, conversion)
  const { clock, clockCheck, log, meter, sealer, leads } = service
  const { outgoing, kv } = service.ledger
  const { isPaused } = createPauseSwitch(kv, clock)
  const parts = { outgoing, kv, converters: [converter], isPaused, sealer, clock, clockCheck, log, meter, leads }
  return { converter, loop: startSettlement(parts) }
}

async function openConverter(
  service: Runtime,
  { recipient, mints, rates }: Converting,
  { rules, key, venue }: ConversionConfig,
): Promise<Converter> {
  if (key === undefined || !venue) throw new ConfigurationError(['settlementKey: is missing'])
  const outgoingWallet = await service.openOutgoingWallet(key, {}).catch((error: unknown) => {
    throw new ConfigurationError([`settlementKey: ${error instanceof Error ? error.message : 'cannot be used'}`])
  })
  if (outgoingWallet.wallet !== recipient) {
    throw new ConfigurationError([
      `settlementKey: is the key of ${outgoingWallet.wallet}, but the payments belong to ${recipient}; set the key of that wallet`,
    ])
  }
  const feed = service.openRates(rates, mints)
  const isConfirmed = (token: TokenCode) => service.tokens.isBound(token, mints)
  const opened = await service.openVenue(key, venue)
  await checkVenue(opened, rules, mints)
  return { outgoingWallet, venue: opened, rules, mints, isConfirmed, rates: feed.current }
}

/** Throws a `ConfigurationError` if the venue never trades one of the service's own tokens. */
async function checkVenue(venue: Venue, rules: ConversionRules, mints: MintTable): Promise<void> {
  const { settlementToken: into, slippageBps } = rules
  const own = rules.tokens.filter((token) => !isKnownCode(token) || !isKnownCode(into))
  const problems = await Promise.all(
    own.map(async (token) => {
      const units = 10n ** BigInt(findDecimals(token, mints) ?? 0)
      const order = { sell: findMint(token, mints), buy: findMint(into, mints), units, slippageBps }
      const quoting = await venue.quote(order)
      return quoting.kind === 'refused' && quoting.code === 'unknown_pair'
        ? [`venue: does not exchange ${token} for ${into}; set another venue, or remove ${token} from acceptedMints`]
        : []
    }),
  )
  if (problems.flat().length > 0) throw new ConfigurationError(problems.flat())
}
