/** The receipt of a purchase, to read, copy, download and print. The service gives it only to the buyer's browser. */
import type { CheckoutTexts } from '../../core/checkout/languages/en.ts'
import type { CheckoutFacts, CheckoutReceipt } from '../../core/checkout/messages.ts'
import { formatPrice } from '../../core/checkout/texts.ts'
import { copyButton, find, make } from './screen.ts'
import { ask } from './service.ts'

/** Returns whether it is shown. Without an answer it is not, and the notice names the transaction. */
export async function showReceipt(facts: CheckoutFacts, requestId: string): Promise<boolean> {
  const answer = await ask<CheckoutReceipt>({ kind: 'receipt', requestId })
  if (answer.kind !== 'answer') return false
  const place = find('receipt')
  place.replaceChildren(...draw(facts, answer.value))
  place.hidden = false
  return true
}

function draw(facts: CheckoutFacts, receipt: CheckoutReceipt): readonly HTMLElement[] {
  const { tx, token, amount, paidAt, resource } = receipt
  const { texts } = facts
  const code = make('code', {}, tx)
  const time = make('time', { dateTime: new Date(paidAt).toISOString() }, formatTime(paidAt, facts.locale))
  const explorer = explorerLink(facts.network, tx)
  const row = (name: string, ...inside: readonly (Node | string)[]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, ...inside))
  const data = make(
    'dl',
    {},
    row(texts.seller, make('bdi', {}, facts.seller === facts.host ? facts.host : `${facts.seller}, ${facts.host}`)),
    row(texts.item, make('bdi', {}, facts.what)),
    row(texts.address, make('code', {}, resource)),
    row(texts.amount, formatPrice({ amount, token }, facts)),
    row(texts.time, time),
    row(texts.transaction, code, copyButton(code, texts.transaction, texts)),
  )
  return [
    make('h2', {}, texts.receipt),
    data,
    make('p', { className: 'actions' }, ...actions(receipt, explorer, texts)),
  ]
}

function actions(
  { tx, receipt }: CheckoutReceipt,
  explorer: string | undefined,
  texts: CheckoutTexts,
): readonly HTMLElement[] {
  // The signed receipt as JSON, as `paystile verify` and other programs read it.
  const href = `data:application/json;base64,${receipt.replaceAll('-', '+').replaceAll('_', '/')}`
  const print = make(
    'button',
    { type: 'button', className: 'button plain', onclick: () => globalThis.print() },
    texts.print,
  )
  const save = make(
    'a',
    { className: 'button plain', href, download: `receipt-${tx.slice(0, 8)}.json` },
    texts.download,
  )
  if (explorer === undefined) return [save, print]
  const view = make('a', { href: explorer, target: '_blank', rel: 'noopener' }, texts.explorer)
  return [save, print, view]
}

/** A local chain has no explorer. */
function explorerLink(network: CheckoutFacts['network'], tx: string): string | undefined {
  if (network === 'localnet') return undefined
  return `https://explorer.solana.com/tx/${tx}${network === 'mainnet' ? '' : `?cluster=${network}`}`
}

function formatTime(ms: number, locale: string): string {
  return new Date(ms).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium' })
}
