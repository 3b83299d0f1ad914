/** Drafts of split payments: nothing is drafted that could not land. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRpc } from '../../src/chain/rpc/rpc.ts'
import { createPaymentDrafts } from '../../src/chain/wallets/payment-drafts.ts'
import type { PaymentDrafts } from '../../src/core/ports/payment-drafts.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'

let world: LocalnetFixture
let drafts: PaymentDrafts
const http = createHttpTransport()
beforeAll(async () => {
  world = await createLocalnetFixture()
  const rpc = createRpc({ urls: [world.localnet.rpcUrl], transport: http.transport })
  const { genesisHash: genesis } = world.localnet
  drafts = createPaymentDrafts({ rpc, network: 'localnet', verifier: createVerifier(), genesis })
})
afterAll(async () => {
  await http.close()
  await world.close()
})

it.each(['USDC', 'SOL'] as const)('a part in %s needs a wallet that can receive it', async (token) => {
  const [payer, partner, nobody] = [await world.person(), await world.person(), await newSigner()]
  const draft = (recipient: string) =>
    drafts.draft({
      account: payer.address,
      recipient: world.recipient.address,
      mint: token === 'SOL' ? undefined : world.usdc,
      units: 1_000n,
      splits: [{ recipient, units: 100n }],
      requestId: 'rid',
      reference: partner.address,
    })
  expect(await draft(partner.address)).toMatchObject({ kind: 'transaction' })
  expect(await draft(nobody.address)).toMatchObject({
    kind: 'impossible',
    why: expect.stringMatching(/^a (wallet|part) /),
  })
})
