/** The wallets of this browser, which announce themselves by the two events of the Wallet Standard. */
import type {
  SolanaSignAndSendTransactionFeature,
  SolanaSignTransactionFeature,
} from '@solana/wallet-standard-features'
import type { Wallet, WalletAccount } from '@wallet-standard/base'
import type { CheckoutFacts } from '../../core/checkout/messages.ts'

interface Connecting {
  readonly 'standard:connect': { connect(): Promise<{ readonly accounts: readonly WalletAccount[] }> }
}

export type Features = Connecting & Partial<SolanaSignTransactionFeature & SolanaSignAndSendTransactionFeature>
export type BrowserWallet = Omit<Wallet, 'features'> & { readonly features: Features }

export const signs = 'solana:signTransaction'
export const sends = 'solana:signAndSendTransaction'

/** Calls back at once and on every change, with the wallets that can pay here. */
export function watchWallets(
  { network, chain }: CheckoutFacts,
  onChange: (wallets: readonly BrowserWallet[]) => void,
): void {
  const known = new Set<Wallet>()
  const canPay = ({ features, chains }: Wallet): boolean =>
    'standard:connect' in features &&
    (signs in features || sends in features) &&
    // Few wallets can be switched to a chain of this machine.
    (network === 'localnet' ? chains.includes(chain as Wallet['chains'][number]) : chains.some(isSolana))
  const tell = () => onChange([...known].filter(canPay) as unknown as readonly BrowserWallet[])
  const api = {
    register: (...wallets: readonly Wallet[]) => {
      for (const wallet of wallets) known.add(wallet)
      tell()
      return () => {
        for (const wallet of wallets) known.delete(wallet)
        tell()
      }
    },
  }
  addEventListener('wallet-standard:register-wallet', (event) =>
    (event as CustomEvent<(registrar: typeof api) => void>).detail(api),
  )
  dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }))
  tell()
}

const isSolana = (chain: string): boolean => chain.startsWith('solana:')

/** Icons are embedded in the wallet's data. Others are not loaded. */
export function findIcon({ icon }: Pick<Wallet, 'icon'>): string | undefined {
  return /^data:image\/(svg\+xml|webp|png|gif);/.test(icon) ? icon : undefined
}

/** Wallets report a refusal by the user in different ways. */
export function isDeclined(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return code === 4001 || /reject|declin|denied|cancel|closed/i.test(String(message))
}
