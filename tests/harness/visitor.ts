/** A browser without its screen: it asks for pages, keeps their cookies, and speaks as the page's script does. */
import { cookieName } from '../../src/core/checkout/cookie.ts'
import type {
  CheckoutFacts,
  CheckoutOrder,
  CheckoutState,
  Preparation,
  Sending,
} from '../../src/core/checkout/messages.ts'
import { formatOrder } from '../../src/core/checkout/messages.ts'
import { eventually } from './shop.ts'

export interface Visitor {
  readonly cookies: Map<string, string>
  go(path?: string, headers?: Readonly<Record<string, string>>): Promise<Page>
  order<Result>(order: CheckoutOrder, path?: string): Promise<Result>
  status(requestId: string, path?: string): Promise<CheckoutState>
  prepare(requestId: string, account: string, token?: 'USDC' | 'SOL' | 'NATIVE'): Promise<Preparation>
  submit(requestId: string, transaction: Uint8Array): Promise<Sending>
  /** Waits until the purchase stands so. */
  until(requestId: string, state: CheckoutState['state'], path?: string): Promise<CheckoutState>
}

export interface Page {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  /** What the page knows; throws where it is not the checkout page. */
  facts(): CheckoutFacts
}

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

/** `cookies` are those of a browser that visits several origins. */
export function createVisitor(origin: string, cookies = new Map<string, string>()): Visitor {
  const cookieHeader = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const order: Visitor['order'] = async (wanted, path = '/data') => {
    const headers = {
      Accept: 'application/json',
      'Payment-Checkout': formatOrder(wanted),
      ...(cookies.size > 0 && { Cookie: cookieHeader() }),
    }
    const response = await fetch(`${origin}${path}`, { headers })
    return (await response.json()) as never
  }
  const status: Visitor['status'] = (requestId, path) => order({ kind: 'status', requestId }, path)
  return {
    cookies,
    order,
    status,
    go: async (path = '/data', headers = {}) => {
      const response = await fetch(`${origin}${path}`, {
        redirect: 'manual',
        headers: {
          Accept: browserAccept,
          'Sec-Fetch-Dest': 'document',
          ...(cookies.size > 0 && { Cookie: cookieHeader() }),
          ...headers,
        },
      })
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
        if (/Max-Age=0/.test(cookie)) cookies.delete(name)
        else cookies.set(name, value)
      }
      const text = await response.text()
      return { status: response.status, text, headers: response.headers, facts: () => factsIn(text) }
    },
    prepare: (requestId, account, token = 'USDC') => order({ kind: 'prepare', requestId, account, token }),
    submit: (requestId, transaction) =>
      order({ kind: 'submit', requestId, transaction: Buffer.from(transaction).toString('base64url') }),
    until: (requestId, state, path) =>
      eventually(
        () => status(requestId, path),
        (seen) => seen.state === state,
        300,
      ),
  }
}

/** The name of an address's cookie where there is no https. */
export function plainName(target: string): string {
  return cookieName({ target, isSecure: false })
}

function factsIn(text: string): CheckoutFacts {
  const json = /<script[^>]*id="facts"[^>]*>(.*?)<\/script>/s.exec(text)?.[1]
  if (json === undefined) throw new Error(`not the checkout page: ${text.slice(0, 200)}`)
  return JSON.parse(json) as CheckoutFacts
}
