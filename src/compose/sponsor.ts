/** Opens sponsors: the wallets that pay network fees for clients of other protocols. */

import { readFunds } from '../chain/accounts/balances.ts'
import { createWallet, type Wallet } from '../chain/keys/keypair.ts'
import type { SignedTransactions } from '../chain/read/signed-transactions.ts'
import type { Rpc } from '../chain/rpc/rpc.ts'
import { createSponsor, type RunningSponsor } from '../chain/wallets/sponsor.ts'
import { prepareHmac } from '../core/encoding/hmac.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { formatUnits } from '../core/money/money.ts'
import { type Network, solDecimals } from '../core/money/tokens.ts'
import type { Meter } from '../core/observability/metrics.ts'
import type { Ledger } from '../core/ports/ledger.ts'
import type { SponsorNotice, SponsorShortage, SponsorState, Submitter } from '../core/ports/sponsor.ts'
import type { Keyring } from '../core/protocol/keyring.ts'
import type { Clock, Log, Verifier } from '../core/runtime.ts'
import { createSign } from '../host/keys/ed25519.ts'
import { checkKeyFile } from '../host/keys/key-file.ts'
import type { AccountKey } from '../paywall/config/kinds.ts'
import type { SponsorConfig } from '../paywall/config/sponsor.ts'
import type { SponsorHandle, SponsorOthers } from '../paywall/runtime/runtime.ts'
import type { Stops } from './network.ts'

interface SponsorParts {
  readonly network: Network
  readonly rpc: Rpc
  readonly verifier: Verifier
  readonly signed: SignedTransactions
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  readonly keyring: Keyring
  readonly submitter: Submitter
  readonly ledger: Pick<Ledger, 'events' | 'kv'>
  readonly openWallet: (key: AccountKey) => Promise<Wallet>
  readonly uses: WalletUses
}

const testLamports = 10_000_000_000
const restMs = 60_000
const hourMs = 3_600_000
const [mostTries, pauseMs] = [100, 20]

interface Slot {
  /** Undefined while its key is being opened, and if that failed. */
  sponsor: RunningSponsor | undefined
  ready: Promise<void>
}

/** The wallets of the service that have another purpose than to sponsor. */
export interface WalletUses {
  /** Opens a key, and remembers its purpose. */
  open(key: AccountKey, purpose: string): Promise<Wallet>
  find(address: string): string | undefined
}

export function createWalletUses(openWallet: (key: AccountKey) => Promise<Wallet>): WalletUses {
  const purposes = new Map<string, string>()
  return {
    open: async (key, purpose) => {
      const wallet = await openWallet(key)
      purposes.set(wallet.address, purpose)
      return wallet
    },
    find: (address) => purposes.get(address),
  }
}

/**
 * Throws a `ConfigurationError` for a key file that is missing, malformed, readable by others, or encrypted without a
 * passphrase. Without its sponsor, a service would sell nothing to clients of x402 and report it only in the log.
 */
export function checkSponsorKey(config: SponsorConfig | undefined): void {
  const key = config?.key
  if (typeof key !== 'string') return
  try {
    checkKeyFile(key)
  } catch (error) {
    throw new ConfigurationError([`sponsor.key: ${error instanceof Error ? error.message : String(error)}`])
  }
}

export interface Sponsors {
  readonly open: (config: SponsorConfig, others: SponsorOthers) => SponsorHandle
  /** The sponsors of all routes whose keys are open. */
  readonly list: () => readonly SponsorState[]
}

/** Routes with the same key share a sponsor. */
export function createSponsors(parts: SponsorParts, stops: Stops): Sponsors {
  const opened = new Map<AccountKey | undefined, Slot>()
  const states = new Map<AccountKey | undefined, () => SponsorState | undefined>()
  const { clock, log, meter, submitter } = parts
  const openSlot = (key: AccountKey | undefined, onBalance: (lamports: bigint) => void): Slot => {
    const slot: Slot = { sponsor: undefined, ready: Promise.resolve() }
    slot.ready = openSponsorWallet(parts, key)
      .then((wallet) => {
        slot.sponsor = createSponsor(parts, wallet, onBalance)
        stops.push(slot.sponsor.stop)
        return slot.sponsor.ready()
      })
      .catch((error) =>
        log.error('sponsor.open_failed', { why: error instanceof Error ? error.message : String(error) }),
      )
    return slot
  }
  const open = (config: SponsorConfig, { recipients, splits = [], accountKey }: SponsorOthers): SponsorHandle => {
    const { key, floor, limits } = config
    let [restsUntil, wasLow] = [0, false]
    const isResting = () => clock.monotonic() < restsUntil
    const onBalance = (lamports: bigint): void => {
      meter.set('paystile_sponsor_lamports', Number(lamports))
      const isLow = lamports < floor
      meter.set('paystile_sponsor_low', isLow || isResting() ? 1 : 0)
      if (isLow && !wasLow) {
        const why = 'x402 is not offered until the wallet has more SOL'
        log.warn('sponsor.low', { lamports: Number(lamports), floor: Number(floor), why })
        notify('balance', lamports)
      }
      wasLow = isLow
    }
    const notify = (reason: SponsorShortage, lamports: bigint): void => {
      const sponsor = slot.sponsor?.address
      if (sponsor !== undefined) void notifyShortage(parts, createNotice(sponsor, reason, lamports, config))
    }
    const slot = opened.get(key) ?? openSlot(key, onBalance)
    opened.set(key, slot)
    const purposes = new Map([
      ...recipients.map((recipient) => [recipient, 'recipient'] as const),
      ...splits.map(({ recipient }) => [recipient, 'splits'] as const),
    ])
    // Opened only for its address; the check of the account reports a key that cannot be opened.
    const accountRead = accountKey === undefined ? undefined : parts.uses.open(accountKey, 'accountKey').catch(() => {})
    const problem = (): string | undefined => {
      const address = slot.sponsor?.address
      if (address === undefined) return undefined
      const purpose = purposes.get(address) ?? parts.uses.find(address)
      return purpose && `sponsor.key: is the wallet of ${purpose}; use a wallet of its own that holds only SOL`
    }
    const isOffering = () =>
      problem() === undefined &&
      (slot.sponsor?.balance() ?? -1n) >= floor &&
      submitter.recent() !== undefined &&
      !isResting()
    states.set(key, () => {
      const sponsor = slot.sponsor
      return (
        sponsor && { address: sponsor.address, balance: sponsor.balance(), floor, limits, isOffering: isOffering() }
      )
    })
    return {
      current: () => (problem() === undefined ? slot.sponsor : undefined),
      problem,
      rest: (limit) => {
        restsUntil = clock.monotonic() + restMs
        meter.set('paystile_sponsor_low', 1)
        notify(limit, slot.sponsor?.balance() ?? 0n)
      },
      ready: async () => void (await Promise.all([slot.ready, accountRead, submitter.start()])),
      isOffering,
    }
  }
  const list = () => {
    return [...states.values()].flatMap((read) => read() ?? [])
  }
  return { open, list }
}

function createNotice(sponsor: string, reason: SponsorShortage, lamports: bigint, { floor, limits }: SponsorConfig) {
  const limit = { balance: floor, day: limits.perDay, lost: limits.lostPerDay }[reason]
  const format = (units: bigint) => formatUnits(units, solDecimals)
  return { sponsor, reason, balance: format(lamports), limit: format(limit) }
}

/** At most once an hour for each reason, whichever server notices it. */
async function notifyShortage({ clock, log, ledger }: SponsorParts, notice: SponsorNotice): Promise<void> {
  try {
    const name = `sponsor.low/${notice.sponsor}/${notice.reason}`
    if (!(await ledger.kv.put(name, '', clock.now() + hourMs))) return
    await ledger.events.notify('sponsor.low', new TextEncoder().encode(JSON.stringify(notice)))
  } catch (error) {
    log.error('ledger.unavailable', { why: error instanceof Error ? error.message : String(error) })
  }
}

/** On localnet, a sponsor without a key gets one that all servers with the same secret share, and free SOL. */
async function openSponsorWallet({ network, rpc, keyring, openWallet }: SponsorParts, key: AccountKey | undefined) {
  if (key !== undefined) return openWallet(key)
  if (network !== 'localnet') throw new TypeError('the sponsor has no key')
  const seed = prepareHmac(keyring.identitySeed)(new TextEncoder().encode('localnet sponsor'))
  const wallet = await createWallet(seed, createSign)
  await rpc.call('requestAirdrop', [wallet.address, testLamports])
  for (let tries = 0; tries < mostTries && !(await hasLamports(rpc, wallet.address)); tries += 1) await pause(pauseMs)
  return wallet
}

async function hasLamports(rpc: Rpc, wallet: string): Promise<boolean> {
  const funds = await readFunds(rpc, { wallet, recipient: wallet, mints: [] })
  return funds.kind !== 'unavailable' && funds.lamports > 0n
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
