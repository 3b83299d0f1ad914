/** The option `webhooks`. */
import { z } from 'zod'
import { isHttpUrl } from '../../core/http/http.ts'
import type { Network } from '../../core/money/tokens.ts'
import { ledgerEventKinds } from '../../core/ports/outbox.ts'
import { isWebhookSecret, nameWebhook, type Webhook } from '../../core/ports/webhooks.ts'
import { flag, list, text } from '../../paywall/config/kinds.ts'

const notUrl = 'must be an address such as https://example.com/hook'
const notKinds = `must be a list of ${ledgerEventKinds.join(', ')}`
const webhook = z.strictObject(
  {
    /** The receiver of the messages: https, or http on this machine and on test networks. */
    url: text.refine(isHttpUrl, notUrl),
    /**
     * `whsec_…`, or several separated by spaces during a replacement: each of them signs the messages. Default:
     * `PAYSTILE_WEBHOOK_SECRET`.
     */
    secret: text.optional(),
    /** The events to send. Default: all. */
    events: z.array(z.enum(ledgerEventKinds), { error: notKinds }).min(1, notKinds).readonly().optional(),
    /** Allows an address in a private network. */
    allowPrivate: flag.optional(),
  },
  { error: 'must be { url, secret }' },
)
export const webhooksOption = list(
  webhook,
  "must be a list of { url, secret }, such as [{ url: 'https://example.com/hook' }]",
)

type Environment = Readonly<Record<string, string | undefined>>
const howToMake = 'create one with: echo "whsec_$(openssl rand -base64 32)"'

/** Reads the option, or `PAYSTILE_WEBHOOK_URL`. Problems are added to the list, without secrets. */
export function readWebhooks(
  option: z.output<typeof webhooksOption> | undefined,
  network: Network,
  env: Environment,
  problems: string[],
): readonly Webhook[] {
  const url = env['PAYSTILE_WEBHOOK_URL'] || undefined
  const given = option ?? (url === undefined ? [] : [{ url }])
  const read = given.map((one, index) => readOne(one, `webhooks.${index}`, network, env, problems))
  const names = read.map(({ name }) => name)
  if (new Set(names).size < names.length) problems.push('webhooks: an address appears twice')
  return Object.freeze(read)
}

function readOne(
  { url, secret, events = ledgerEventKinds, allowPrivate = false }: z.output<typeof webhook>,
  path: string,
  network: Network,
  env: Environment,
  problems: string[],
): Webhook {
  const unusable = whyUnusable(url, network, allowPrivate)
  if (unusable !== undefined) problems.push(`${path}.url: ${unusable}`)
  const secrets = (secret ?? env['PAYSTILE_WEBHOOK_SECRET'])?.trim().split(/\s+/) ?? []
  if (secrets.length === 0) problems.push(`${path}.secret: is missing; ${howToMake}`)
  else if (!secrets.every(isWebhookSecret))
    problems.push(`${path}.secret: must be whsec_ and 24 to 64 bytes in base64; ${howToMake}`)
  return Object.freeze({ name: nameWebhook(url), url, secrets, events, allowPrivate })
}

function whyUnusable(url: string, network: Network, allowPrivate: boolean): string | undefined {
  // The environment and the command line are not parsed by the schema.
  if (!isHttpUrl(url)) return notUrl
  const { protocol, username, password, hostname } = new URL(url)
  if (username !== '' || password !== '') return 'must not contain a password; the signature identifies the sender'
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (isHere && network !== 'localnet' && !allowPrivate)
    return 'is on this machine; to allow that, set allowPrivate: true'
  if (protocol === 'http:' && network === 'mainnet' && !isHere) return 'must be https'
  return undefined
}
