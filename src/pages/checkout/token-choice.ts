/** The choice of the token. It changes the price, QR code, link and the data for a manual transfer. */
import type { CheckoutFacts, CheckoutToken, CheckoutView } from '../../core/checkout/messages.ts'
import { qrPath, qrPixels, qrSize } from '../../core/checkout/qr-path.ts'
import { longPrice } from '../../core/checkout/texts.ts'
import { copyButton, find, say } from './screen.ts'
import { ask } from './service.ts'

/** Activates the choice and the copy buttons. */
export function startChoice(facts: CheckoutFacts, onChange: (isDown: boolean) => void) {
  let chosen = facts.tokens[0] ?? { token: 'USDC', amount: '' }
  if (!facts.isSplit) {
    find<HTMLDetailsElement>('hand').open = false
    for (const code of find('hand').querySelectorAll<HTMLElement>('dd>code'))
      code.after(copyButton(code, code.parentElement?.previousElementSibling?.textContent ?? ''))
  }
  const fields = document.getElementById('tokens')
  writeAmount(chosen)
  if (fields) {
    fields.hidden = false
    // A browser may restore another choice than the one in the page.
    const radios = [...fields.querySelectorAll('input')]
    for (const radio of radios) radio.checked = radio.value === chosen.token
    fields.onchange = async () => {
      const wanted = facts.tokens.find(({ token }) => radios.some((radio) => radio.checked && radio.value === token))
      if (!wanted) return
      const answer = await ask<CheckoutView>({ kind: 'view', requestId: facts.requestId, token: wanted.token })
      // The user may have chosen another token meanwhile.
      if (!radios.some((radio) => radio.checked && radio.value === wanted.token)) return
      if (answer.kind === 'answer') {
        chosen = wanted
        write(wanted, answer.value)
        say(`The price is ${wanted.amount} ${wanted.token}`)
      } else for (const radio of radios) radio.checked = radio.value === chosen.token
      onChange(answer.kind === 'down')
    }
  }
  return { price: () => chosen }
}

export type Choice = ReturnType<typeof startChoice>

/** The amount without its token, so that it can be copied. */
function writeAmount({ amount, token }: CheckoutToken): void {
  const place = document.getElementById('amount')
  if (!place) return
  place.textContent = amount
  const name = place.parentElement?.previousElementSibling
  if (name) name.textContent = `Amount in ${token}`
}

function write(price: CheckoutToken, { uri, rows }: CheckoutView): void {
  const { amount, token } = price
  const size = qrSize(rows)
  const [qr, link, mint] = ['qr', 'link', 'mint'].map((id) => document.getElementById(id))
  qr?.setAttribute('viewBox', `0 0 ${size} ${size}`)
  for (const side of ['width', 'height']) qr?.setAttribute(side, String(qrPixels(rows)))
  qr?.setAttribute('aria-label', `QR code: pay ${amount} ${token}`)
  qr?.firstElementChild?.setAttribute('d', qrPath(rows))
  if (uri.startsWith('solana:')) link?.setAttribute('href', uri)
  const place = find('price')
  const [big, code] = place.children
  place.classList.toggle('long', amount.length > longPrice)
  if (big) big.textContent = amount
  if (code) code.textContent = token
  writeAmount(price)
  if (!mint) return
  mint.textContent = price.mint ?? ''
  const row = mint.closest('div')
  if (row) row.hidden = mint.textContent === ''
}
