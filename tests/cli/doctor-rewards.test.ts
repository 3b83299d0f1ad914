/** The doctor on rewards: step by step from no key to a wallet that can pay. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createWallet } from '../../src/chain/keys/keypair.ts'
import { makeKeyFile, withKeyFile } from '../../src/host/keys/key-file.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import { directory, examine, settings, trouble, troubles, useDoctorFixture, world, write } from './doctor-fixture.ts'

useDoctorFixture()

it('leads from rewards without a key to a wallet that can pay', async () => {
  const rest = async () => ({ wallet: (await newSigner()).address, weight: 1 })
  const rewards = {
    cashback: { 0: 1 },
    withoutPartner: true,
    treasury: await rest(),
    buyback: await rest(),
    incentives: await rest(),
  }
  const key = join(directory, 'payout.json')
  const look = (more: object) =>
    examine(
      write(
        settings({
          mints: { USDC: world.usdc.address, NATIVE: world.native.address },
          rewards: { ...rewards, ...more },
        }),
      ),
    )
  expect(trouble(await look({}))).toBe(
    'warn rewards: rewards accrue, but no payout key is set → set rewards.key or PAYSTILE_PAYOUT_KEY where npx paystile worker runs',
  )
  expect(trouble(await look({ key }))).toMatch(/^fail keys: rewards\.key: The key file .* does not exist/)
  makeKeyFile(key)
  const { address } = await withKeyFile(key, createWallet)
  expect(trouble(await look({ key }))).toContain(`so payouts are not possible → send NATIVE to ${address}`)
  await world.localnet.fund(address, { NATIVE: 10n ** 9n })
  expect(trouble(await look({ key }))).toContain(`too little SOL for fees → send SOL to ${address}`)
  await world.localnet.fund(address, { SOL: 10n ** 9n })
  const report = await look({ key })
  expect(troubles(report)).toEqual([])
  expect(report.text).toContain(`${address} holds 1 NATIVE and 1`)
  // A source that does not know NATIVE.
  const unknown = write(
    settings({
      mints: { USDC: world.usdc.address, NATIVE: world.native.address },
      rates: { source: 'pyth', url: 'http://127.0.0.1:1' },
      rewards: { ...rewards, key },
    }),
  )
  expect(trouble(await examine(unknown))).toMatch(
    /^warn rewards: NATIVE has no rate \(.*\), so rewards neither accrue nor are paid → set rates: \{ NATIVE: "…" \}/,
  )
})
