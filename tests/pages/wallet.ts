/** A wallet as a browser extension brings it (Wallet Standard). It really signs: with a key that stays with the test. */
import { type KeyPairSigner, signBytes } from '@solana/kit'
import type { Page } from 'playwright-core'
import { undoAtLeave } from '../harness/left-pages.ts'

/** For `visit`: announces a wallet of each name. They sign once `lendKeys` has given them their keys. */
export function walletScript(people: Readonly<Record<string, string>>): string {
  return `(${announce})(${JSON.stringify(people)})`
}

export async function lendKeys(page: Page, people: Readonly<Record<string, KeyPairSigner>>): Promise<void> {
  const exposed = await page.exposeFunction('signFor', async (name: string, bytes: number[]) => {
    const signer = people[name]
    if (!signer) throw new Error('declined')
    return [...(await signBytes(signer.keyPair.privateKey, Uint8Array.from(bytes)))]
  })
  undoAtLeave(page, exposed)
}

/** Runs in the page. */
function announce(people: Readonly<Record<string, string>>): void {
  interface Signing {
    readonly message: Uint8Array
  }
  const sign = (name: string, bytes: readonly number[]) =>
    (globalThis as unknown as { signFor(name: string, bytes: readonly number[]): Promise<number[]> }).signFor(
      name,
      bytes,
    )
  const own = 'data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4='
  const wallets = Object.entries(people).map(([name, address]) => {
    const account = {
      address,
      publicKey: new Uint8Array(32),
      chains: ['solana:localnet'],
      features: ['solana:signMessage'],
    }
    return {
      version: '1.0.0',
      name,
      // One has a picture elsewhere, which a page must not fetch.
      icon: name === 'Shy' ? 'https://wallet.example/icon.png' : own,
      chains: ['solana:localnet'],
      accounts: [],
      features: {
        'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
        'solana:signMessage': {
          version: '1.0.0',
          signMessage: async (...inputs: Signing[]) =>
            Promise.all(
              inputs.map(async ({ message }) => ({
                signedMessage: message,
                signature: Uint8Array.from(await sign(name, [...message])),
              })),
            ),
        },
      },
    }
  })
  const register = (api: { register(...all: unknown[]): void }) => api.register(...wallets)
  window.dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }))
  window.addEventListener('wallet-standard:app-ready', (event) =>
    register((event as CustomEvent<{ register(...all: unknown[]): void }>).detail),
  )
}
