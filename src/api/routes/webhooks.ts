/** The endpoints of the webhooks: the messages, and orders to send one again or to test a receiver. */
import { z } from 'zod'
import type { LedgerEvents } from '../../core/ports/outbox.ts'
import * as answers from '../analytics/answers.ts'
import { deliveryStates, readDelivery, readWebhookList, type WebhooksView } from '../analytics/webhooks.ts'
import { answer, problem } from '../http/errors.ts'
import { endpoints } from '../http/paths.ts'
import { readPosted } from '../http/posted.ts'
import { limit, noQuery } from '../http/queries.ts'
import { type Row, readingRow } from '../http/route.ts'

export interface WebhookRowsParts {
  readonly events: Pick<LedgerEvents, 'list' | 'resend'>
  readonly view: WebhooksView
}

const listQuery = z.strictObject({ state: z.enum(deliveryStates).optional(), limit: limit('Messages') })
const resendBody = z.strictObject({ id: z.string().max(256) }).meta({ description: 'The id of a message.' })
const testBody = z.strictObject({ receiver: z.string().max(64) }).meta({ description: 'The name of a receiver.' })

export function webhookRows(parts: WebhookRowsParts): readonly Row[] {
  const { events, view } = parts
  const base = { isPrivate: true, method: 'POST' } as const
  return [
    readingRow(
      endpoints.deliveries,
      'Receivers of webhooks, and the latest messages',
      listQuery,
      { answer: answers.webhooks },
      (query) => readWebhookList(parts, query),
    ),
    readingRow(
      `${endpoints.deliveries}/{id}`,
      'One message, with its body for a signed-in owner',
      noQuery,
      { answer: answers.delivery },
      async (_, { url, access }) => {
        const id = url.pathname.slice(endpoints.deliveries.length + 1)
        const found = await readDelivery(parts, id, (await access()).kind === 'owner')
        return found ?? problem('not_found', { detail: 'No message has this id. Use an id from the list.' })
      },
    ),
    {
      ...base,
      path: `${endpoints.deliveries}/resend`,
      summary: 'Send a message again',
      body: resendBody,
      answer: answers.resent,
      handle: async ({ request }) => {
        const posted = await readOrder(request, resendBody)
        if (posted instanceof Response) return posted
        if (await events.resend(posted.id)) return answer({ id: posted.id }, { status: 202 })
        return problem('not_found', { detail: 'No message has this id. Use an id from the list.' })
      },
    },
    {
      ...base,
      path: `${endpoints.deliveries}/test`,
      summary: 'Send a test message to a receiver',
      body: testBody,
      answer: answers.webhookTest,
      handle: async ({ request }) => {
        const posted = await readOrder(request, testBody)
        if (posted instanceof Response) return posted
        const receiver = view.receivers.find(({ name }) => name === posted.receiver)
        if (!receiver) return problem('not_found', { detail: 'No receiver has this name. Use one from the list.' })
        const result = await view.test(receiver)
        if (result.kind === 'failed') return answer({ isAccepted: false, status: null, why: result.why })
        const isAccepted = result.status >= 200 && result.status < 300
        return answer({
          isAccepted,
          status: result.status,
          why: isAccepted ? '' : `it returned status ${result.status}`,
        })
      },
    },
  ]
}

/** Only the service's own page and programs may order something. */
async function readOrder<Shape extends z.ZodRawShape>(request: Request, body: z.ZodObject<Shape>) {
  if (/^(?:cross|same)-site$/.test(request.headers.get('sec-fetch-site') ?? '')) return problem('cross_site')
  return readPosted(request, body)
}
