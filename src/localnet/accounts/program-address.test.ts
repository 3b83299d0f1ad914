import { address, getAddressDecoder, getProgramDerivedAddress, isOffCurveAddress } from '@solana/kit'
import { findAssociatedTokenPda } from '@solana-program/token'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { programs } from './addresses.ts'
import { associatedTokenAddress, isOnCurve, programAddress } from './program-address.ts'

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })

it('knows the curve as kit does', () => {
  fc.assert(
    fc.property(bytes32, (bytes) => {
      expect(isOnCurve(bytes)).toBe(!isOffCurveAddress(getAddressDecoder().decode(bytes)))
    }),
    { numRuns: 200 },
  )
})

it('derives the addresses kit derives', async () => {
  await fc.assert(
    fc.asyncProperty(bytes32, bytes32, async (first, second) => {
      const [wallet, mint] = [getAddressDecoder().decode(first), getAddressDecoder().decode(second)]
      const program = address(programs.token)
      const [derived] = await getProgramDerivedAddress({ programAddress: program, seeds: [first, second] })
      expect(programAddress([first, second], program)).toBe(derived)
      const [associated] = await findAssociatedTokenPda({ owner: wallet, mint, tokenProgram: program })
      expect(associatedTokenAddress(wallet, mint, program)).toBe(associated)
    }),
    { numRuns: 30 },
  )
})
