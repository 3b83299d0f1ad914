/** Wallets on a touch screen: links that open this page in a wallet's own browser, where the wallet can pay. */
import { fill } from '../../core/checkout/languages/fill.ts'
import type { CheckoutFacts } from '../../core/checkout/messages.ts'
import { find, make } from './screen.ts'

/** Universal links. Without the app, they lead to the wallet's site, which then learns the address of this page. */
const apps = [
  ['Phantom', 'https://phantom.app/ul/browse/'],
  ['Solflare', 'https://solflare.com/ul/v1/browse/'],
] as const
const walletList = 'https://solana.com/wallets'

/** Shows the links, and folds the code away: a phone cannot scan its own screen. */
export function offerApps({ network, texts }: CheckoutFacts): void {
  if (!matchMedia('(pointer: coarse)').matches) return
  const code = document.getElementById('code')
  if (code instanceof HTMLDetailsElement) {
    code.open = false
    code.firstElementChild?.replaceChildren(texts.otherPhone)
  }
  // A wallet's browser reaches only public addresses, and no chain of this machine.
  if (location.protocol !== 'https:' || network === 'localnet') return
  const [page = ''] = location.href.split('#', 1)
  const link = (className: string, href: string, name: string) =>
    make('a', { className, href, rel: 'noopener noreferrer' }, name)
  find('apps').append(
    ...apps.map(([wallet, start]) => {
      const href = `${start}${encodeURIComponent(page)}?ref=${encodeURIComponent(location.origin)}`
      return link('button', href, fill(texts.openIn, { wallet }))
    }),
  )
  const others = document.getElementById('link') ?? find('apps')
  others.after(link('get', walletList, texts.getWallet))
}
