/**
 * Fees that a Token-2022 mint withholds from every transfer, and the amount to send so that the full price arrives.
 */
import { maxUnits, smaller } from './money.ts'

export interface TransferFee {
  /** The fee in hundredths of a percent of the amount sent, rounded up to a whole base unit. */
  readonly basisPoints: number
  /** The maximum fee of one transfer, in base units. */
  readonly maximum: bigint
}

const whole = 10_000n

/** Computes the fee of a transfer in the same way as the token program. */
export function computeFee(gross: bigint, { basisPoints, maximum }: TransferFee): bigint {
  return smaller(divideUp(gross * BigInt(basisPoints), whole), maximum)
}

/**
 * Computes the smallest amount to send so that at least `net` arrives under each of these fees. Undefined if it exceeds
 * the limit of a transfer.
 */
export function computeGross(net: bigint, fees: readonly TransferFee[]): bigint | undefined {
  const gross = fees.reduce((most, fee) => greatest(most, grossUnder(net, fee)), net)
  return gross <= maxUnits ? gross : undefined
}

/**
 * The received amount never falls as the sent amount rises. The minimum is therefore where either the percentage or the
 * maximum fee leaves `net`.
 */
function grossUnder(net: bigint, { basisPoints, maximum }: TransferFee): bigint {
  const arriving = whole - BigInt(basisPoints)
  const capped = net + maximum
  return arriving > 0n ? smaller(divideUp(net * whole, arriving), capped) : net === 0n ? 0n : capped
}

function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

function greatest(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}
