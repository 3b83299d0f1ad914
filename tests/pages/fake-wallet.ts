/** A wallet as an extension would put it into the page: by the Wallet Standard, without keys. */
import type { Page } from 'playwright-core'
import { undoAtLeave } from '../harness/left-pages.ts'

export interface FakeWallet {
  readonly name?: string
  readonly chains?: readonly string[]
  readonly accounts?: number
  /** Sends by itself, and cannot only sign. */
  readonly isSender?: boolean
  /** What comes of asking it to connect, and to sign; `later` waits for the page's event `approve`. */
  readonly connects?: 'yes' | 'no' | 'never'
  readonly signs?: 'yes' | 'no' | 'fails' | 'never' | 'later'
  readonly icon?: string
}

/** Before the page is opened, until the test leaves it. How often it was asked is kept in `window.asked`. */
export async function installWallet(page: Page, wallet: FakeWallet = {}): Promise<void> {
  const script = await page.addInitScript((options) => {
    const { name = 'Testwallet', chains = ['solana:devnet'], accounts = 1, isSender, connects, signs } = options
    const asked = { connect: 0, sign: 0 }
    const answer = async <T>(how: string | undefined, value: T): Promise<T> => {
      if (how === 'later') await new Promise((resolve) => addEventListener('approve', resolve))
      if (how === 'never') return new Promise(() => {})
      if (how === 'no') throw Object.assign(new Error('User rejected the request.'), { code: 4001 })
      if (how === 'fails') throw new Error('Internal error')
      return value
    }
    const list = Array.from({ length: accounts }, (_, index) => ({
      address: `${index + 2}vQ2sUjfXcKMwZkD3hVd7aRpqzN8eGt5Y4oLbWc1xTHu`,
      publicKey: new Uint8Array(32),
      chains,
      features: [],
      label: index > 0 ? `Savings ${index}` : undefined,
    }))
    const sign = async () => {
      asked.sign += 1
      return answer(signs, [
        { signedTransaction: new Uint8Array(300).fill(9).fill(1, 0, 1), signature: new Uint8Array(64).fill(9) },
      ])
    }
    const versions = ['legacy', 0]
    const fake = {
      version: '1.0.0',
      name,
      icon:
        options.icon ??
        `data:image/svg+xml;base64,${btoa('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#ab9ff2"/><circle cx="12" cy="12" r="5" fill="#fff"/></svg>')}`,
      chains,
      accounts: list,
      features: {
        'standard:connect': {
          version: '1.0.0',
          connect: async () => {
            asked.connect += 1
            return answer(connects, { accounts: list })
          },
        },
        ...(isSender
          ? {
              'solana:signAndSendTransaction': { supportedTransactionVersions: versions, signAndSendTransaction: sign },
            }
          : { 'solana:signTransaction': { supportedTransactionVersions: versions, signTransaction: sign } }),
      },
    }
    Object.assign(window, { asked })
    const register = (api: { register(wallet: unknown): void }) => api.register(fake)
    addEventListener('wallet-standard:app-ready', (event) => register((event as CustomEvent).detail))
    dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }))
  }, wallet)
  undoAtLeave(page, script)
}
