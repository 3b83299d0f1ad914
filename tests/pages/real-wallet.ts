/** A wallet in the page that signs for real: the Wallet Standard in front, a key of the test's behind it. */
import {
  getBase64Decoder,
  getBase64Encoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type KeyPairSigner,
  partiallySignTransaction,
} from '@solana/kit'
import type { Page } from 'playwright-core'
import { undoAtLeave } from '../harness/left-pages.ts'

export interface RealWallet {
  /** How often it was asked to sign. */
  asked(): number
  /** The next time it is asked, the person says no. */
  decline(): void
}

/** For all documents that the pages of a page's context open from now on, until the test leaves it. */
export async function installRealWallet(page: Page, signer: KeyPairSigner): Promise<RealWallet> {
  const context = page.context()
  let asked = 0
  let isDeclining = false
  const exposed = await context.exposeFunction('signForTest', async (transaction: string): Promise<string | null> => {
    asked += 1
    if (isDeclining) {
      isDeclining = false
      return null
    }
    const draft = getTransactionDecoder().decode(getBase64Encoder().encode(transaction))
    const signed = await partiallySignTransaction([signer.keyPair], draft)
    return getBase64Decoder().decode(getTransactionEncoder().encode(signed))
  })
  const script = await context.addInitScript((address) => {
    const { signForTest } = window as unknown as { signForTest(transaction: string): Promise<string | null> }
    const chains = ['solana:localnet']
    const account = { address, publicKey: new Uint8Array(32), chains, features: [] }
    const toText = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes))
    const toBytes = (text: string) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    const wallet = {
      version: '1.0.0',
      name: 'Realwallet',
      icon: 'data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=',
      chains,
      accounts: [account],
      features: {
        'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
        'solana:signTransaction': {
          version: '1.0.0',
          supportedTransactionVersions: ['legacy', 0],
          signTransaction: async ({ transaction }: { transaction: Uint8Array }) => {
            const signed = await signForTest(toText(transaction))
            if (signed === null) throw Object.assign(new Error('User rejected the request.'), { code: 4001 })
            return [{ signedTransaction: toBytes(signed) }]
          },
        },
      },
    }
    const register = (api: { register(wallet: unknown): void }) => api.register(wallet)
    addEventListener('wallet-standard:app-ready', (event) => register((event as CustomEvent).detail))
    dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }))
  }, signer.address)
  for (const change of [script, exposed]) undoAtLeave(page, change)
  return {
    asked: () => asked,
    decline: () => {
      isDeclining = true
    },
  }
}
