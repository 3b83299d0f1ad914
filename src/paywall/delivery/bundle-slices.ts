/**
 * Slices of bundles. While a bundle is used often, this server holds some of its uses, so that one durable write serves
 * many requests.
 *
 * A use is served only from a slice that the ledger confirmed within the last second. The ledger refuses a spent,
 * refunded, reverted or expired payment at the next report. A slice goes back after a second without use.
 */
import { sliceOfUses } from '../../core/payment/allowance.ts'
import { type Admission, isCurrent } from '../claim/admit.ts'
import type { Claim } from '../claim/verify-on-chain.ts'
import type { RouteConfig } from '../config/config.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type HeldSlice, holdSlice, type SliceUse } from './slice.ts'

/** An admission by a slice. The ledger holds the slice and no grant of this use. */
export interface SlicedAdmission extends Admission {
  readonly use?: SliceUse
}

export interface BundleSlices {
  /** Admits a repeated request at once. Undefined if this server holds no confirmed use of its bundle. */
  draw(claim: Claim, earlier: Admission): SlicedAdmission | undefined
  /** The same, but asks the ledger for uses. Undefined if it grants none: then the whole decision gives the reason. */
  take(claim: Claim, earlier: Admission): Promise<SlicedAdmission | undefined>
  /** The chain reverted a payment: the ledger confirms each slice before its next use. */
  doubt(): void
  /** Returns all slices. Called after the last response has ended. */
  close(): Promise<void>
}

/** Undefined if the route sells no bundle that is large enough. */
export function createBundleSlices(runtime: Runtime, config: RouteConfig): BundleSlices | undefined {
  const { per } = config.pricing
  if (per.kind !== 'allowance' || per.allowance.unit !== 'request') return undefined
  const { ledger, clock } = runtime
  const { leaseMs } = config
  const slices = new Map<string, HeldSlice>()
  const held = new Set<HeldSlice>()
  const openings = new Map<string, Promise<HeldSlice | undefined>>()

  const drawFrom = (slice: HeldSlice, earlier: Admission): SlicedAdmission | undefined => {
    const use = slice.draw()
    if (!use) return undefined
    const remaining = slice.remaining()
    const { kind, takenAt, payer, token, received, passedOn, allowance, usableUntil, request, isRepeatable } = earlier
    const payment = { kind, takenAt, payer, token, received, passedOn, allowance, usableUntil, request, isRepeatable }
    return { ...payment, grant: undefined, use, remaining, first: false }
  }
  /** Takes a slice, or near the end of the bundle a single use. */
  const open = async (claim: Claim, earlier: Admission): Promise<HeldSlice | SlicedAdmission | undefined> => {
    const { tx, txBytes } = claim.proof
    const takenAt = clock.monotonic()
    const order = { tx: txBytes, request: earlier.request, amount: 1n, isSlice: true, leaseMs }
    const taken = await ledger.take(order)
    if (taken.kind !== 'granted') return undefined
    const { grant, remaining } = taken
    if (grant.from === 0n) return { ...earlier, grant, takenAt, remaining, first: false }
    const onClosed = () => void (slices.get(tx) === slice && slices.delete(tx))
    const onGone = () => void held.delete(slice)
    const slice = holdSlice({ runtime, leaseMs, tx, taken, takenAt, onClosed, onGone })
    slices.set(tx, slice)
    held.add(slice)
    return slice
  }
  const isUsable = ({ routeRuntime, proof }: Claim, { allowance }: Admission): boolean =>
    sliceOfUses(allowance.amount) > 0n && isCurrent(routeRuntime.runtime, proof)

  return {
    draw: (claim, earlier) => {
      const slice = slices.get(claim.proof.tx)
      return slice && isUsable(claim, earlier) ? drawFrom(slice, earlier) : undefined
    },
    take: async (claim, earlier) => {
      if (!isUsable(claim, earlier)) return undefined
      const { tx } = claim.proof
      const opening = slices.has(tx) ? undefined : openings.get(tx)
      if (!slices.has(tx) && !opening) {
        const asked = open(claim, earlier).finally(() => openings.delete(tx))
        openings.set(
          tx,
          asked.then(
            (opened) => (opened && 'draw' in opened ? opened : undefined),
            () => undefined,
          ),
        )
        const opened = await asked
        return opened && 'draw' in opened ? drawFrom(opened, earlier) : opened
      }
      const slice = slices.get(tx) ?? (await opening)
      if (!slice) return undefined
      const drawn = drawFrom(slice, earlier)
      if (drawn) return drawn
      await slice.report()
      return drawFrom(slice, earlier)
    },
    doubt: () => {
      for (const slice of held) slice.doubt()
    },
    close: async () => {
      await Promise.all([...held].map((slice) => slice.giveBack()))
    },
  }
}
