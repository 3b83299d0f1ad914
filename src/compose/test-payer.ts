/** A test customer: a wallet of this process with test tokens, on a local chain. */
import { createWallet } from '../chain/keys/keypair.ts'
import { isKnownCode } from '../core/money/tokens.ts'
import type { TestPayer } from '../paywall/runtime/test-payer.ts'
import { type FaucetSettings, forward } from './faucet.ts'

type Settings = Omit<FaucetSettings, 'mints' | 'faucetKey'>

/** Only on a local chain, where the faucet refills the wallet as often as needed. */
export function openTestPayer(settings: Settings): TestPayer | undefined {
  if (settings.network !== 'localnet') return undefined
  const wallet = createWallet(crypto.getRandomValues(new Uint8Array(32)))
  wallet.catch(() => {})
  return {
    address: async () => (await wallet).address,
    fill: async (token) => {
      const { address } = await wallet
      // The usual amounts include SOL for the fees, but no other tokens.
      for (const order of [{ address }, ...(isKnownCode(token) ? [] : [{ address, token }])]) {
        const answer = await forward(settings, JSON.stringify(order))
        if (answer?.status !== 200) return false
      }
      return true
    },
    sign: async (transaction) => (await wallet).signTransaction(transaction),
  }
}
