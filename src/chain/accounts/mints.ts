/** Reads mints of either token program: decimals, fees, and the traits that matter to a recipient. */
import { splTokenProgram } from '../../core/money/tokens.ts'
import type { TransferFee } from '../../core/money/transfer-fee.ts'
import type { DoubtfulTrait, MintReading } from '../../core/payment/token-rules.ts'
import { type ChainAccount, isEmpty } from './account.ts'
import { findMintExtension, type MintExtension, readExtensions } from './extensions.ts'
import { tokenPrograms } from './programs.ts'

const mintBytes = 82
const decimalsOffset = 44
const initializedOffset = 45

/** Reads the account at a mint's address, with the fees of this epoch and the next. */
export function readMint(account: ChainAccount, epoch: bigint): MintReading {
  const { owner: program, data } = account
  if (isEmpty(account)) return program === '' ? { kind: 'absent' } : { kind: 'foreign', program }
  if (!tokenPrograms.has(program)) return { kind: 'foreign', program }
  const malformed = (why: string) => ({ kind: 'malformed', program, why }) as const
  if (data.length < mintBytes || data[initializedOffset] !== 1) return malformed('is not a mint')
  // SPL Token has no extensions, and its mints have exactly this length.
  const isBare = program === splTokenProgram
  const extensions = isBare && data.length !== mintBytes ? undefined : readExtensions(data, 'mint', mintBytes)
  if (!extensions) return malformed('is not a mint, or has extensions that cannot be read')
  const named = new Map<MintExtension, Uint8Array>()
  for (const [type, value] of extensions) {
    const name = findMintExtension(type)
    if (name === undefined) continue
    if ((lengths[name] ?? value.length) !== value.length) return malformed(`has a ${name} that cannot be read`)
    named.set(name, value)
  }
  const config = named.get('transferFee')
  const fees = config ? readFees(config, epoch) : []
  if (fees.some(({ basisPoints }) => basisPoints > 10_000)) return malformed('has a transferFee above 100 percent')
  const doubts = listDoubts(named)
  const traits = {
    fees,
    decimals: data[decimalsOffset] ?? 0,
    doubts: named.size < extensions.size ? [...doubts, 'unknown' as const] : doubts,
    isTransferable: !named.has('nonTransferable'),
    isPaused: named.get('pausable')?.[32] === 1,
    opensFrozen: named.get('defaultAccountState')?.[0] === 2,
  }
  return { kind: 'mint', program, traits }
}

/** The lengths of the extensions read here. A value of another length has another meaning. */
const lengths: Readonly<Partial<Record<MintExtension, number>>> = {
  transferFee: 108,
  defaultAccountState: 1,
  permanentDelegate: 32,
  transferHook: 64,
  pausable: 33,
}

/** A delegate or hook that was removed permanently does not count, because no authority is left to set it again. */
function listDoubts(named: ReadonlyMap<MintExtension, Uint8Array>): readonly DoubtfulTrait[] {
  const isSet = (name: MintExtension) => named.get(name)?.some((byte) => byte !== 0) === true
  return [
    ...(isSet('transferHook') ? (['transferHook'] as const) : []),
    ...(isSet('permanentDelegate') ? (['permanentDelegate'] as const) : []),
    ...(named.has('interestBearing') ? (['interestBearing'] as const) : []),
    ...(named.has('scaledUiAmount') ? (['scaledUiAmount'] as const) : []),
  ]
}

const [olderOffset, newerOffset] = [72, 90]

/**
 * A new fee applies from the epoch that it names, two epochs after it was set. The fees of this epoch and the next are
 * therefore certain.
 */
function readFees(config: Uint8Array, epoch: bigint): readonly TransferFee[] {
  const view = new DataView(config.buffer, config.byteOffset, config.byteLength)
  const at = (one: bigint): TransferFee => {
    const offset = one >= view.getBigUint64(newerOffset, true) ? newerOffset : olderOffset
    return { basisPoints: view.getUint16(offset + 16, true), maximum: view.getBigUint64(offset + 8, true) }
  }
  const [now, next] = [at(epoch), at(epoch + 1n)]
  const isSame = now.basisPoints === next.basisPoints && now.maximum === next.maximum
  return (isSame ? [now] : [now, next]).filter(({ basisPoints, maximum }) => basisPoints > 0 && maximum > 0n)
}
