/** Opens sponsors: the wallets that pay network fees for clients of other protocols. */

import { readFunds } from '../chain/accounts/balances.ts'
import type { Wallet } from '../chain/keys/keypair.ts'
import { createWallet } from '../chain/keys/keypair.ts'
import type { Rpc } from '../chain/rpc/rpc.ts'
import type { RunningSponsor } from '../chain/wallets/submitter.ts'
import { createSponsor } from '../chain/wallets/submitter.ts'
import { prepareHmac } from '../core/encoding/hmac.ts'
import type { Network } from '../core/money/tokens.ts'
import type { Meter } from '../core/observability/metrics.ts'
import type { Submitter } from '../core/ports/sponsor.ts'
import type { Keyring } from '../core/protocol/keyring.ts'
import type { Clock, Log } from '../core/runtime.ts'
import type { AccountKey } from '../paywall/config/kinds.ts'
import type { SponsorConfig } from '../paywall/config/sponsor.ts'
import type { SponsorHandle } from '../paywall/runtime/runtime.ts'
import type { Stops } from './network.ts'

interface SponsorParts {
  readonly network: Network
  readonly rpc: Rpc
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  readonly keyring: Keyring
  readonly submitter: Submitter
  readonly openWallet: (key: AccountKey) => Promise<Wallet>
}

const testLamports = 10_000_000_000
const restMs = 60_000
const [mostTries, pauseMs] = [100, 20]

interface Slot {
  /** Undefined while its key is being opened, and if that failed. */
  sponsor: RunningSponsor | undefined
  ready: Promise<void>
}

/** Routes with the same key share a sponsor. */
export function createSponsors(parts: SponsorParts, stops: Stops): (config: SponsorConfig) => SponsorHandle {
  const opened = new Map<AccountKey | undefined, Slot>()
  const { log, meter, submitter } = parts
  const open = (key: AccountKey | undefined, floor: bigint) => {
    const slot: Slot = { sponsor: undefined, ready: Promise.resolve() }
    let wasLow = false
    const onBalance = (lamports: bigint): void => {
      meter.set('paystile_sponsor_lamports', Number(lamports))
      if (lamports < floor && !wasLow)
        log.warn('sponsor.low', {
          lamports: Number(lamports),
          floor: Number(floor),
          why: 'x402 is not offered until the wallet has more SOL',
        })
      wasLow = lamports < floor
    }
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
  return ({ key, floor }) => {
    const slot = opened.get(key) ?? open(key, floor)
    opened.set(key, slot)
    let restsUntil = 0
    return {
      current: () => slot.sponsor,
      rest: () => {
        restsUntil = parts.clock.monotonic() + restMs
      },
      ready: async () => void (await Promise.all([slot.ready, submitter.start()])),
      isOffering: () =>
        (slot.sponsor?.balance() ?? -1n) >= floor &&
        submitter.recent() !== undefined &&
        parts.clock.monotonic() >= restsUntil,
    }
  }
}

/** On localnet, a sponsor without a key gets one that all servers with the same secret share, and free SOL. */
async function openSponsorWallet({ network, rpc, keyring, openWallet }: SponsorParts, key: AccountKey | undefined) {
  if (key !== undefined) return openWallet(key)
  if (network !== 'localnet') throw new TypeError('the sponsor has no key')
  const seed = prepareHmac(keyring.identitySeed)(new TextEncoder().encode('localnet sponsor'))
  const wallet = await createWallet(seed)
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
