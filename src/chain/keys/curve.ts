/** Whether an address can have a key: those of programs and of token accounts lie off the curve on purpose. */
import { address, isOffCurveAddress } from '@solana/kit'

/** For an address that is one. */
export function canHaveKey(text: string): boolean {
  return !isOffCurveAddress(address(text))
}
