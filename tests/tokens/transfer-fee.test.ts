/** What we say a price takes, and what Token-2022 itself makes of it. */
import type { KeyPairSigner } from '@solana/kit'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Mint } from '../../src/core/money/tokens.ts'
import { computeFee, computeGross, type TransferFee } from '../../src/core/money/transfer-fee.ts'
import { size } from '../harness/length.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { succeed } from '../harness/message.ts'
import { createMint, extensions, mintTo, move } from '../harness/mint.ts'

let world: LocalnetFixture
let payer: KeyPairSigner

beforeAll(async () => {
  world = await createLocalnetFixture()
  payer = await world.person()
})
afterAll(() => world.close())

const supply = 2n ** 63n

async function mintWith({ basisPoints, maximum }: TransferFee): Promise<Mint> {
  const mint = await createMint(world, payer, {
    extensions: [extensions.transferFee(basisPoints, payer.address, maximum)],
  })
  await mintTo(world, mint, payer, { [payer.address]: supply })
  return mint
}

/** Sends it to somebody new, and reads what they have. */
async function arrivingOf(mint: Mint, gross: bigint): Promise<bigint> {
  const { address: shop } = await newSigner()
  await mintTo(world, mint, payer, { [shop]: 0n })
  await succeed(world, [await move(world, mint, payer, shop, gross)], payer)
  const data = world.localnet.getAccount(await world.tokenAccount(shop, mint))?.data ?? new Uint8Array(72)
  return new DataView(data.buffer, data.byteOffset).getBigUint64(64, true)
}

it.each<[TransferFee, readonly bigint[]]>([
  [{ basisPoints: 100, maximum: 2n ** 63n }, [1n, 99n, 10_000n, 123_456_789n]],
  [{ basisPoints: 1, maximum: 1n }, [1n, 9_999n, 10_001n]],
  [{ basisPoints: 9_999, maximum: 2n ** 62n }, [1n, 77n]],
  [{ basisPoints: 10_000, maximum: 50n }, [1n, 10_000n]],
  [{ basisPoints: 250, maximum: 300n }, [11_700n, 11_999n, 12_001n]],
  [{ basisPoints: 0, maximum: 300n }, [10_000n]],
])('with a fee of %o the price arrives, and not from one unit less', async (fee, prices) => {
  const mint = await mintWith(fee)
  for (const net of prices) {
    const gross = computeGross(net, [fee]) ?? 0n
    expect(await arrivingOf(mint, gross)).toBeGreaterThanOrEqual(net)
    expect(await arrivingOf(mint, gross - 1n)).toBeLessThan(net)
  }
})

it('unusual fees are computed as the program does', async () => {
  const fees = fc.record({ basisPoints: fc.integer({ min: 1, max: 10_000 }), maximum: fc.bigInt(1n, 10_000n) })
  for (const fee of fc.sample(fees, { numRuns: size(3, 8), seed: 22 })) {
    const mint = await mintWith(fee)
    for (const gross of fc.sample(fc.bigInt(1n, 1_000_000n), { numRuns: 3, seed: 22 })) {
      expect(await arrivingOf(mint, gross)).toBe(gross - computeFee(gross, fee))
    }
  }
})
