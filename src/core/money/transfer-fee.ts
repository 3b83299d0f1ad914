/**
 * Fees that a Token-2022 mint keeps of every transfer, and how much has to be sent so that a price arrives whole.
 */
import { maxUnits, smaller } from './money.ts'

export interface TransferFee {
  /** Hundredths of a percent of what is sent, rounded up to a whole base unit. */
  readonly basisPoints: number
  /** The most that is kept of one transfer, in base units. */
  readonly maximum: bigint
}

const whole = 10_000n

/** What is kept of a transfer, as the program works it out. */
export function computeFee(gross: bigint, { basisPoints, maximum }: TransferFee): bigint {
  return smaller(divideUp(gross * BigInt(basisPoints), whole), maximum)
}

/**
 * The least that has to be sent so that, whichever of these fees is in force, at least `net` arrives. Undefined when
 * that is more than a transfer can carry.
 */
export function computeGross(net: bigint, fees: readonly TransferFee[]): bigint | undefined {
  const gross = fees.reduce((most, fee) => greatest(most, grossUnder(net, fee)), net)
  return gross <= maxUnits ? gross : undefined
}

/** What arrives never falls as what is sent rises, so the least is where either the share or the maximum lets `net` through. */
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
