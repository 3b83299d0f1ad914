/** The visible parts: the notice, the wallet buttons, and the focus when an element disappears. */
import type { WalletAccount } from '@wallet-standard/base'
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

const title = document.title
let shown = ''

/** Shows a notice or none. An unchanged notice is not rewritten, so screen readers do not repeat it. */
export function show(notice: Notice | undefined, isOffered: boolean, isHeldBack: boolean): void {
  const text = JSON.stringify([notice, isOffered, isHeldBack])
  if (text === shown) return
  shown = text
  const [place, pay] = [find('notice'), find('pay')]
  const isLosing = place.contains(document.activeElement) || (!isOffered && pay.contains(document.activeElement))
  document.title = notice ? `${notice.title} - ${title}` : title
  place.replaceChildren(...(notice ? [draw(notice)] : []))
  pay.hidden = !isOffered && !isHeldBack
  pay.classList.toggle('held', isHeldBack)
  find('time').hidden = pay.hidden
  if (isLosing) place.focus()
}

function draw({ tone, title: head, text, tx, command, action, href = '', isQuiet }: Notice): HTMLElement {
  const box = make('div', { className: `notice ${tone}` }, make('h2', {}, head), make('p', {}, text))
  if (command !== undefined) box.append(copyable(command, 'Command'))
  if (tx !== undefined) box.append(make('p', {}, 'Transaction ', make('code', {}, tx)))
  // An empty address is the address of the page itself.
  if (action !== undefined)
    box.append(make('a', { className: isQuiet || tone === 'busy' ? '' : 'button', href }, action))
  return box
}

function copyable(text: string, name: string): HTMLElement {
  const code = make('code', {}, text)
  return make('p', { className: 'copy' }, code, copyButton(code, name))
}

/** A button that copies the text of an element and confirms it. */
export function copyButton(code: HTMLElement, name: string): HTMLElement {
  const button = make('button', { type: 'button', ariaLabel: `Copy ${name.toLowerCase()}` }, 'Copy')
  button.onclick = async () => {
    const isCopied = await copy(code)
    say(isCopied ? `${name} copied` : 'Press Ctrl+C to copy')
    button.textContent = isCopied ? 'Copied' : 'Selected'
    setTimeout(() => {
      button.textContent = 'Copy'
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
  onPay: (wallet: BrowserWallet) => void,
  onTest?: () => void,
): void {
  const buttons = wallets.map((wallet) => {
    const icon = findIcon(wallet)
    const button = make('button', { type: 'button', className: 'button pays' }, `Pay with ${wallet.name}`)
    if (icon !== undefined) button.prepend(make('img', { src: icon, alt: '', width: 24, height: 24 }))
    button.onclick = () => onPay(wallet)
    return button
  })
  if (onTest)
    buttons.push(make('button', { type: 'button', className: 'button pays', onclick: onTest }, 'Pay with test money'))
  const none = 'No wallet was found in this browser. Pay with your phone, or by hand.'
  find('wallets').replaceChildren(...(buttons.length > 0 ? buttons : [make('p', { className: 'hint' }, none)]))
}

/** Disables the choices while one is in progress. The buttons keep their tab order. */
export function disableChoices(isBusy: boolean, isDown: boolean): void {
  for (const button of find('wallets').querySelectorAll('.pays')) button.ariaDisabled = String(isBusy || isDown)
  for (const part of document.querySelectorAll<HTMLElement>('#tokens,.phone,#hand')) part.inert = isBusy
}

/** Resolves with the chosen account; rejects if none was chosen. */
export function offerAccounts(accounts: readonly WalletAccount[]): Promise<WalletAccount> {
  return new Promise((resolve, reject) => {
    const button = (words: string, act: () => void) =>
      make('button', { type: 'button', className: 'button plain', onclick: act }, words)
    const buttons = accounts.map((account) => {
      const short = `${account.address.slice(0, 4)}...${account.address.slice(-4)}`
      return button(account.label ? `${account.label} (${short})` : short, () => resolve(account))
    })
    find('wallets').replaceChildren(
      ...buttons,
      button('Cancel', () => reject(new Error('cancelled'))),
    )
    buttons[0]?.focus()
  })
}
