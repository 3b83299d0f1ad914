/** The front page of a service: a page with the items for sale for people, and the same list for programs. */
import { formatAccess, formatAllowance } from '../../core/checkout/languages/allowance-text.ts'
import { type Language, readLanguage } from '../../core/checkout/languages/language.ts'
import type { Seller } from '../../core/checkout/seller.ts'
import { formatDecimal } from '../../core/money/money.ts'
import { compressPage } from '../../paywall/pages/compress.ts'
import { createNonce, createPage } from '../../paywall/pages/document.ts'
import { isForPeople } from '../../paywall/pages/for-people.ts'
import { type FrontItem, renderFrontPage } from '../../paywall/pages/front-page.ts'
import type { CatalogEntry } from '../../paywall/runtime/catalog.ts'
import { answer, createPageResponse } from '../http/errors.ts'
import { endpoints } from '../http/paths.ts'
import { type DiscoveryParts, wellKnownDocument } from './discovery.ts'

export interface FrontPageRouteParts extends DiscoveryParts {
  readonly seller: Seller | undefined
  readonly style: string
}

const docs = 'https://github.com/paystile/paystile#readme'

export async function frontPage(parts: FrontPageRouteParts, request: Request, url: URL): Promise<Response> {
  const header = (name: string) => request.headers.get(name) ?? undefined
  // A HEAD request of a browser gets the headers of the page.
  if (!isForPeople({ method: 'GET', header })) return answer(wellKnownDocument(parts), { headers: { Vary: 'Accept' } })
  const { service, seller, style, publicUrl } = parts
  const { network } = service.config
  const nonce = createNonce()
  const language = readLanguage({ header })
  const texts = language.texts.page
  const { host, pathname } = new URL(publicUrl ?? url.origin)
  const base = pathname.replace(/\/$/, '')
  const page = createPage({
    status: 200,
    language,
    nonce,
    seller,
    body: renderFrontPage({
      items: listItems(service.catalog.entries(), base, language),
      links: [
        [texts.dashboard, `${base}${endpoints.dashboard}`],
        [texts.forPrograms, `${base}${endpoints.llms}`],
        // A local chain is for developers.
        ...(network === 'localnet' ? [[texts.docs, docs] as const] : []),
      ],
      ...{ seller, host, network, nonce, style, language },
    }),
    headers: { Vary: 'Accept' },
  })
  const sent = await compressPage(page, { header })
  return createPageResponse(sent, new Headers(sent.headers))
}

/** In the seller's order, but the items that people can buy first. A route whose path is not published is not listed. */
function listItems(entries: readonly CatalogEntry[], base: string, language: Language): readonly FrontItem[] {
  const items = entries.flatMap((entry) => createItem(entry, base, language) ?? [])
  // While a configuration is replaced, its routes are in the catalog twice.
  const distinct = [...new Map(items.map((item) => [`${item.method} ${item.path}`, item])).values()]
  return [...distinct.filter(({ href }) => href !== undefined), ...distinct.filter(({ href }) => href === undefined)]
}

function createItem(entry: CatalogEntry, base: string, language: Language): FrontItem | undefined {
  const { path, methods, price, token, acceptedMints, per, reopen, description, hasPage } = entry
  if (path === undefined) return undefined
  // A pattern such as `/users/:id` names no single address.
  const isBuyable = hasPage && methods.includes('GET') && !/[:*]/.test(path)
  const allowance = { unit: per.unit, amount: BigInt(per.amount) }
  return {
    name: description ?? path,
    method: methods[0] ?? 'GET',
    path,
    price: price === undefined ? undefined : formatDecimal(price, language.locale),
    token,
    others: acceptedMints.filter((code) => code !== token),
    buys: reopen && hasPage ? formatAccess(reopen, language) : formatAllowance(allowance, language),
    href: isBuyable ? `${base}${path}` : undefined,
    isPaused: entry.isPaused(),
  }
}
