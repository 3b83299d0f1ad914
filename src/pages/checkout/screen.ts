/** The visible parts: the notice, the wallet buttons, and the focus when an element disappears. */
import type { WalletAccount } from '@wallet-standard/base'
import type { CheckoutTexts } from '../../core/checkout/languages/en.ts'
import { fill } from '../../core/checkout/languages/fill.ts'
import type { Notice } from '../../core/checkout/texts.ts'
import { type BrowserWallet, findIcon } from './wallets.ts'

export function find<T extends Element = HTMLElement>(id: string): T {
  return document.getElementById(id) as unknown as T
}

/** Texts are set as text nodes only, so they cannot become markup. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  set: Partial<HTMLElementTagNameMap[K]> = {},
  ...inside: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(name), set)
  element.append(...inside)
  return element
}

let title = document.title
let shown = ''
let heading: string | undefined

/** Sets the title, which follows that of the notice. */
export function setTitle(given: string): void {
  title = given
  document.title = heading === undefined ? title : `${heading} - ${title}`
}

/**
 * Shows a notice or none. An unchanged notice is not rewritten, so screen readers do not repeat it. `onOpen` replaces
 * the link to the purchase.
 */
export function show(
  notice: Notice | undefined,
  { isOffered, isHeldBack }: { readonly isOffered: boolean; readonly isHeldBack: boolean },
  texts: CheckoutTexts,
  onOpen: (() => void) | undefined,
): void {
  const text = JSON.stringify([notice, isOffered, isHeldBack])
  if (text === shown) return
  shown = text
  const [place, pay] = [find('notice'), find('pay')]
  const isLosing = place.contains(document.activeElement) || (!isOffered && pay.contains(document.activeElement))
  heading = notice?.title
  setTitle(title)
  const before = pay.getBoundingClientRect().top
  place.replaceChildren(...(notice ? [draw(notice, texts, onOpen)] : []))
  pay.hidden = !isOffered && !isHeldBack
  pay.classList.toggle('held', isHeldBack)
  find('time').hidden = pay.hidden
  // The ways to pay stay where they are on the screen.
  if (isOffered && before !== 0) scrollBy({ top: pay.getBoundingClientRect().top - before, behavior: 'instant' })
  if (isLosing) place.focus()
}

function draw(notice: Notice, texts: CheckoutTexts, onOpen: (() => void) | undefined): HTMLElement {
  const { tone, title: head, text, tx, command, action, href = '', isQuiet, opens, isApart } = notice
  const box = make('div', { className: `notice ${tone}` }, make('h2', {}, head), make('p', {}, text))
  if (command !== undefined) box.append(copyable(command, texts))
  if (tx !== undefined) {
    const code = make('code', {}, tx)
    const copying = copyButton(code, texts.transaction, texts)
    box.append(make('p', { className: 'tx' }, make('span', {}, texts.transaction), ' ', code, copying))
  }
  // An empty address is the address of the page itself.
  if (action === undefined) return box
  const link = make('a', { className: isQuiet || tone === 'busy' ? '' : 'button', href }, action)
  if (isApart) Object.assign(link, { target: '_blank', rel: 'noopener' })
  if (opens && onOpen)
    link.onclick = (event) => {
      // With a key, the browser opens another tab.
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      onOpen()
    }
  box.append(link)
  return box
}

function copyable(text: string, texts: CheckoutTexts): HTMLElement {
  const code = make('code', {}, text)
  return make('p', { className: 'copy' }, code, copyButton(code, texts.command, texts))
}

/** A button that copies the text of an element and confirms it. */
export function copyButton(code: HTMLElement, name: string, texts: CheckoutTexts): HTMLElement {
  const button = make('button', { type: 'button', ariaLabel: fill(texts.copyName, { name }) }, texts.copy)
  button.onclick = async () => {
    const isCopied = await copy(code)
    say(isCopied ? fill(texts.copiedName, { name }) : texts.pressCopy)
    button.textContent = isCopied ? texts.copied : texts.selected
    setTimeout(() => {
      button.textContent = texts.copy
    }, 2_000)
  }
  return button
}

/** Pages without TLS have no clipboard, so the text is selected instead. */
async function copy(code: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent ?? '')
    return true
  } catch {
    getSelection()?.selectAllChildren(code)
    return document.execCommand('copy')
  }
}

/** Text for screen readers only. */
export function say(text: string): void {
  find('said').textContent = text
}

/** One button for each wallet, and one for test tokens if available. */
export function offerWallets(
  wallets: readonly BrowserWallet[],
  texts: CheckoutTexts,
  onPay: (wallet: BrowserWallet) => void,
  onTest?: () => void,
): void {
  const buttons = wallets.map((wallet) => {
    const icon = findIcon(wallet)
    const button = make(
      'button',
      { type: 'button', className: 'button pays' },
      fill(texts.payWith, { wallet: wallet.name }),
    )
    if (icon !== undefined) button.prepend(make('img', { src: icon, alt: '', width: 24, height: 24 }))
    button.onclick = () => onPay(wallet)
    return button
  })
  if (onTest) buttons.push(make('button', { type: 'button', className: 'button pays', onclick: onTest }, texts.payTest))
  find('wallets').replaceChildren(
    ...(buttons.length > 0 ? buttons : [make('p', { className: 'hint' }, texts.noWallet)]),
  )
}

/** Disables the choices while one is in progress. The buttons keep their tab order. */
export function disableChoices(isBusy: boolean, isDown: boolean): void {
  for (const button of find('wallets').querySelectorAll('.pays')) button.ariaDisabled = String(isBusy || isDown)
  for (const part of document.querySelectorAll<HTMLElement>('#tokens,#apps,.phone,#hand')) part.inert = isBusy
}

/** Resolves with the chosen account; rejects if none was chosen. */
export function offerAccounts(accounts: readonly WalletAccount[], texts: CheckoutTexts): Promise<WalletAccount> {
  return new Promise((resolve, reject) => {
    const button = (words: string, act: () => void) =>
      make('button', { type: 'button', className: 'button plain', onclick: act }, words)
    const buttons = accounts.map((account) => {
      const short = `${account.address.slice(0, 4)}...${account.address.slice(-4)}`
      return button(account.label ? `${account.label} (${short})` : short, () => resolve(account))
    })
    find('wallets').replaceChildren(
      ...buttons,
      button(texts.cancel, () => reject(new Error('cancelled'))),
    )
    buttons[0]?.focus()
  })
}
