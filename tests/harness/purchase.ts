/** The two ways in which a person pays at the checkout: with a phone, and with a wallet that signs what was drafted. */
import {
  getBase64Encoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type KeyPairSigner,
  partiallySignTransaction,
} from '@solana/kit'
import type { CheckoutFacts, Preparation } from '../../src/core/checkout/messages.ts'
import type { LocalnetFixture } from './localnet-fixture.ts'
import { memo } from './localnet-fixture.ts'

/** As a wallet on a phone pays, in base units of USDC. */
export async function payFromPhone(
  world: LocalnetFixture,
  payer: KeyPairSigner,
  { requestId, recipient }: Pick<CheckoutFacts, 'requestId' | 'recipient'>,
  units = 10_000n,
): Promise<string> {
  return world.send([memo(requestId), await world.transfer(payer, recipient, 'USDC', units)], payer)
}

/** As a wallet in a browser signs. */
export async function signDraft(preparation: Preparation, payer: KeyPairSigner): Promise<Uint8Array> {
  if (preparation.kind !== 'transaction') throw new Error(`nothing to sign: ${JSON.stringify(preparation)}`)
  const bytes = getBase64Encoder().encode(preparation.transaction)
  const signed = await partiallySignTransaction([payer.keyPair], getTransactionDecoder().decode(bytes))
  return new Uint8Array(getTransactionEncoder().encode(signed))
}
