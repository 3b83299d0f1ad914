/** Drafts for a recipient without a token account: on test networks, the payer opens it. */
import { getBase64Encoder } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { associatedTokenProgram } from '../../src/chain/accounts/programs.ts'
import { openTransaction } from '../../src/chain/read/decode.ts'
import { createRpc } from '../../src/chain/rpc/rpc.ts'
import { createPaymentDrafts } from '../../src/chain/wallets/payment-drafts.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { type Network, networks } from '../../src/core/money/tokens.ts'
import type { Drafting, PaymentDraft } from '../../src/core/ports/payment-drafts.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'

let world: LocalnetFixture
const http = createHttpTransport()
beforeAll(async () => {
  world = await createLocalnetFixture()
})
afterAll(async () => {
  await http.close()
  await world.close()
})

async function draft(network: Network, order: Pick<PaymentDraft, 'account' | 'recipient' | 'splits'>) {
  const rpc = createRpc({ urls: [world.localnet.rpcUrl], transport: http.transport })
  const drafts = createPaymentDrafts({ rpc, network, verifier: createVerifier(), genesis: world.localnet.genesisHash })
  const { address: reference } = await newSigner()
  return drafts.draft({ ...order, mint: world.usdc, units: 1_000n, requestId: 'rid', reference })
}

/** The wallets that pay for the token accounts that a draft opens. */
function listOpeners(drafting: Drafting): readonly string[] {
  if (drafting.kind !== 'transaction') throw new Error(`no transaction: ${JSON.stringify(drafting)}`)
  const bytes = new Uint8Array(getBase64Encoder().encode(drafting.transaction))
  const { instructions, keys } = openTransaction(bytes)
  const nameKey = (index = -1): string => encodeBase58(keys[index] ?? new Uint8Array())
  return instructions.flatMap(({ program, accounts }) =>
    nameKey(program) === associatedTokenProgram ? [nameKey(accounts[0])] : [],
  )
}

async function fund(lamports: bigint): Promise<string> {
  const { address } = await newSigner()
  await world.localnet.fund(address, { SOL: lamports, USDC: 1_000_000n })
  return address
}

describe('a draft for a recipient without a token account', () => {
  it.each(networks.filter((network) => network !== 'mainnet'))(
    'opens it at the payer’s expense on %s',
    async (network) => {
      const [{ address: account }, { address: recipient }] = [await world.person(), await newSigner()]
      expect(listOpeners(await draft(network, { account, recipient }))).toEqual([account])
    },
  )

  it('is refused on mainnet, where the rent would be a surcharge', async () => {
    const [{ address: account }, { address: recipient }] = [await world.person(), await newSigner()]
    expect(await draft('mainnet', { account, recipient })).toEqual({
      kind: 'impossible',
      why: 'the seller has no account for this token',
    })
  })

  it('needs SOL for the fees, for the rent and for the minimum of a wallet', async () => {
    const { address: recipient } = await newSigner()
    const needs = 2_945_160n
    const short = { account: await fund(needs - 1n), recipient }
    expect(await draft('localnet', short)).toEqual({ kind: 'short', of: 'fee', has: needs - 1n, needs })
    const enough = { account: await fund(needs), recipient }
    expect(await draft('localnet', enough)).toMatchObject({ kind: 'transaction' })
  })

  it('does not open the account of a split', async () => {
    const [{ address: account }, { address: recipient }, partner] = [
      await world.person(),
      await newSigner(),
      await newSigner(),
    ]
    const splits = [{ recipient: partner.address, units: 100n }]
    expect(await draft('localnet', { account, recipient, splits })).toEqual({
      kind: 'impossible',
      why: 'a wallet that shares the price has no account for this token',
    })
  })
})

it('a draft for a recipient with a token account opens none and needs no rent', async () => {
  const order = { account: await fund(1_000_000n), recipient: world.recipient.address }
  expect(listOpeners(await draft('localnet', order))).toEqual([])
})
