/**
 * Whether an address can have a private key. Addresses of programs and of token accounts lie off the curve by design.
 */
import { address, isOffCurveAddress } from '@solana/kit'

/** Expects a valid address. */
export function canHaveKey(text: string): boolean {
  return !isOffCurveAddress(address(text))
}
