/** Lists of transactions that strangers make long: anyone can name a wallet in a transaction with a large memo. */
import {
  appendTransactionMessageInstructions,
  type Blockhash,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listPayments } from '../../src/chain/read/address-signatures.ts'
import { createNodeReader } from '../../src/chain/read/node-reader.ts'
import { fetchTransport } from '../../src/chain/rpc/fetch-transport.ts'
import { createRpc, type Rpc } from '../../src/chain/rpc/rpc.ts'
import { readCosignedFate } from '../../src/chain/send/cosigned.ts'
import { createWalletHistory } from '../../src/chain/wallets/wallet-history.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { createLocalnetFixture, type LocalnetFixture, memo } from '../harness/localnet-fixture.ts'

let world: LocalnetFixture
let wallet: string
const count = 200
/** It writes no log, so that it needs little computation. */
const memoV1 = 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo'
const { transport, close } = createHttpTransport()

beforeAll(async () => {
  world = await createLocalnetFixture({ slotMs: 200 })
  const stranger = await world.person()
  const victim = await world.person()
  wallet = victim.address
  const dust = await world.transfer(stranger, wallet, 'SOL', 1n)
  const { value } = await world.rpc<{ value: { blockhash: Blockhash; lastValidBlockHeight: number } }>(
    'getLatestBlockhash',
  )
  const lifetime = { blockhash: value.blockhash, lastValidBlockHeight: BigInt(value.lastValidBlockHeight) }
  for (let number = 0; number < count; number += 1) {
    // A node writes six characters for each control character.
    const large = memo(`${number}`.padEnd(960, '\u0001'), memoV1)
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (draft) => setTransactionMessageFeePayerSigner(stranger, draft),
      (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
      (draft) => appendTransactionMessageInstructions([large, dust], draft),
    )
    const wire = getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(message))
    await world.rpc('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }])
  }
  world.localnet.advanceSlots(200)
})
afterAll(async () => {
  await close()
  await world.close()
})

const parts = () => ({
  genesis: world.localnet.genesisHash,
  verifier: createVerifier(),
  clock: createWallClock(),
  log: { info: () => {}, warn: () => {}, error: () => {} },
})

describe.each([
  ['undici', transport],
  ['fetch', fetchTransport],
])('T199: over %s, a stranger with large memos does not end', (_name, by) => {
  const open = (): Rpc => createRpc({ urls: [world.localnet.rpcUrl], transport: by })

  it('the list of payments to an account', async () => {
    const { genesis, ...rest } = parts()
    const readers = open().nodes.map((node) => createNodeReader({ node, pin: { hash: genesis }, ...rest }))
    const listed = await listPayments(readers, wallet, { signature: '', slot: 0 }, 0)
    expect(listed?.filter(({ memos }) => memos.includes('\u0001'))).toHaveLength(count)
  })

  it('the check of an outgoing wallet', async () => {
    const history = createWalletHistory(wallet, { rpc: open(), ...parts() })
    expect((await history.list(0))?.transactions.length).toBe(count)
  })

  it('the search for the payment of a wallet', async () => {
    const lost = { wallet, signature: 'none', blockhash: wallet, slot: world.localnet.slot() - 20, memo: 'none' }
    const fate = await readCosignedFate({ rpc: open(), genesis: world.localnet.genesisHash }, lost)
    expect(fate).not.toMatchObject({ why: "the wallet's transactions cannot be read" })
  })
})
