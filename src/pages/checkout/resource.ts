/** The bought resource in the page, if it is JSON: indented to read, and as it was sent. */
import type { CheckoutTexts } from '../../core/checkout/languages/en.ts'
import { checkoutHeader, formatOrder } from '../../core/checkout/messages.ts'
import { isJsonType } from '../../core/http/http.ts'
import { indentJson } from '../look/json-text.ts'
import { copyButton, make } from './screen.ts'

/** As a browser sends it for a visit, so the handler chooses the same format. */
const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const patienceMs = 60_000

/** Returns whether it is shown. If not, nothing was used up, unless the connection broke. */
export async function showResource(place: HTMLElement, requestId: string, texts: CheckoutTexts): Promise<boolean> {
  const text = await read(requestId)
  const shown = text === undefined ? undefined : indentJson(text)
  if (text === undefined || shown === undefined) return false
  const code = make('code', {}, shown)
  // The type keeps a browser from reading the text as a page.
  const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const raw = make('a', { href, target: '_blank', rel: 'noopener' }, texts.raw)
  const head = make(
    'div',
    { className: 'copy' },
    make('h2', {}, texts.purchase),
    raw,
    copyButton(code, texts.purchase, texts),
  )
  place.replaceChildren(head, make('pre', { tabIndex: 0 }, code))
  return true
}

async function read(requestId: string): Promise<string | undefined> {
  try {
    const response = await fetch(location.href, {
      headers: { Accept: accept, [checkoutHeader]: formatOrder({ kind: 'open', requestId }) },
      cache: 'no-store',
      signal: AbortSignal.timeout(patienceMs),
    })
    const isJson = response.status === 200 && isJsonType(response.headers.get('content-type') ?? undefined)
    return isJson ? await response.text() : undefined
  } catch {
    return undefined
  }
}

/** Lets the browser open the resource, as a link of this page does. */
export function openElsewhere(): void {
  make('a', { href: '', referrerPolicy: 'same-origin' }).click()
}
