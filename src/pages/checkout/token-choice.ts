/** The choice of the token. It changes the price, QR code, link and the data for a manual transfer. */
import { fill } from '../../core/checkout/languages/fill.ts'
import type { CheckoutFacts, CheckoutToken, CheckoutView } from '../../core/checkout/messages.ts'
import { formatPrice, formatTitle, formatWorth, longPrice } from '../../core/checkout/texts.ts'
import { formatDecimal } from '../../core/money/money.ts'
import { copyButton, find, say, setTitle } from './screen.ts'
import { ask } from './service.ts'

/** Activates the choice and the copy buttons. */
export function startChoice(facts: CheckoutFacts, onChange: (isDown: boolean) => void) {
  let chosen = facts.tokens[0] ?? { token: 'USDC', amount: '' }
  if (!facts.isSplit) {
    find<HTMLDetailsElement>('hand').open = false
    for (const code of find('hand').querySelectorAll<HTMLElement>('dd>code'))
      code.after(copyButton(code, code.parentElement?.previousElementSibling?.textContent ?? '', facts.texts))
  }
  const fields = document.getElementById('tokens')
  showRows(chosen)
  if (fields) {
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
        write(wanted, facts, answer.value)
        chosen = wanted
        say(fill(facts.texts.priceIs, { price: formatPrice(wanted, facts) }))
      } else for (const radio of radios) radio.checked = radio.value === chosen.token
      onChange(answer.kind === 'down')
    }
  }
  return { price: () => chosen }
}

export type Choice = ReturnType<typeof startChoice>

/** The rows of a manual transfer in the chosen token. */
function showRows({ token }: CheckoutToken): void {
  for (const row of document.querySelectorAll<HTMLElement>('[data-token]')) row.hidden = row.dataset['token'] !== token
}

function write(price: CheckoutToken, facts: CheckoutFacts, { uri, qr }: CheckoutView): void {
  const code = document.getElementById('qr')
  if (code && qr) {
    const { viewBox, side, path } = qr
    const label = fill(facts.texts.qr, { price: formatPrice(price, facts) })
    for (const [name, value] of Object.entries({ viewBox, width: side, height: side, 'aria-label': label }))
      code.setAttribute(name, `${value}`)
    code.firstElementChild?.setAttribute('d', path)
  }
  if (uri.startsWith('solana:')) document.getElementById('link')?.setAttribute('href', uri)
  const place = find('price')
  const [big, token, worth] = place.children
  place.classList.toggle('long', price.amount.length > longPrice)
  if (big) big.textContent = formatDecimal(price.amount, facts.locale)
  if (token) token.textContent = price.token
  if (worth) worth.textContent = formatWorth(price, facts)
  setTitle(formatTitle(price, facts))
  showRows(price)
}
