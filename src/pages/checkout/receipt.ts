/** The receipt of a purchase, to read, copy, download and print. The service gives it only to the buyer's browser. */
import type { CheckoutFacts, CheckoutReceipt } from '../../core/checkout/messages.ts'
import { copyButton, find, make } from './screen.ts'
import { ask } from './service.ts'

/** Without an answer, nothing is shown: the notice has named the transaction already. */
export async function showReceipt(facts: CheckoutFacts, requestId: string): Promise<void> {
  const answer = await ask<CheckoutReceipt>({ kind: 'receipt', requestId })
  if (answer.kind !== 'answer') return
  const place = find('receipt')
  place.replaceChildren(...draw(facts, answer.value))
  place.hidden = false
}

function draw(facts: CheckoutFacts, receipt: CheckoutReceipt): readonly HTMLElement[] {
  const { tx, token, amount, paidAt, resource } = receipt
  const code = make('code', {}, tx)
  const time = make('time', { dateTime: new Date(paidAt).toISOString() }, formatTime(paidAt))
  const explorer = explorerLink(facts.network, tx)
  const row = (name: string, ...inside: readonly (Node | string)[]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, ...inside))
  const data = make(
    'dl',
    {},
    row('Item', make('bdi', {}, facts.what)),
    row('Address', make('code', {}, resource)),
    row('Paid', `${amount} ${token}`),
    row('Time', time),
    row('Transaction', code, copyButton(code, 'Transaction')),
  )
  return [make('h2', {}, 'Receipt'), data, make('p', { className: 'actions' }, ...actions(receipt, explorer))]
}

function actions({ tx, receipt }: CheckoutReceipt, explorer: string | undefined): readonly HTMLElement[] {
  // The signed receipt as JSON, as `paystile verify` and other programs read it.
  const href = `data:application/json;base64,${receipt.replaceAll('-', '+').replaceAll('_', '/')}`
  const print = make(
    'button',
    { type: 'button', className: 'button plain', onclick: () => globalThis.print() },
    'Print',
  )
  const save = make(
    'a',
    { className: 'button plain', href, download: `receipt-${tx.slice(0, 8)}.json` },
    'Download the signed receipt',
  )
  if (explorer === undefined) return [save, print]
  const view = make('a', { href: explorer, target: '_blank', rel: 'noopener' }, 'View the transaction in an explorer')
  return [save, print, view]
}

/** A local chain has no explorer. */
function explorerLink(network: CheckoutFacts['network'], tx: string): string | undefined {
  if (network === 'localnet') return undefined
  return `https://explorer.solana.com/tx/${tx}${network === 'mainnet' ? '' : `?cluster=${network}`}`
}

function formatTime(ms: number): string {
  return new Date(ms).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}
