/** The option `webhooks` as it is used. */
import { isHttpUrl } from '../../core/encoding/http.ts'
import { nearest } from '../../core/encoding/suggest.ts'
import type { Network } from '../../core/money/tokens.ts'
import type { LedgerEventKind } from '../../core/ports/outbox.ts'
import { ledgerEventKinds } from '../../core/ports/outbox.ts'
import type { Webhook } from '../../core/service/webhooks.ts'
import { isWebhookSecret, nameWebhook } from '../../core/service/webhooks.ts'

/** What a provider may say. */
export interface WebhookOption {
  /** Where messages are posted: https, or http on this machine and on test networks. */
  readonly url: string
  /**
   * `whsec_…`, or several with spaces between them while one is being replaced: messages are then signed with each.
   * Left out, `PAYSTILE_WEBHOOK_SECRET` is used.
   */
  readonly secret?: string
  /** What to be told of. Default: everything. */
  readonly events?: readonly LedgerEventKind[]
  /** Lets the address be in a private network. */
  readonly allowPrivate?: boolean
}

type Environment = Readonly<Record<string, string | undefined>>
const known = ['url', 'secret', 'events', 'allowPrivate']
const howToMake = 'make one with: echo "whsec_$(openssl rand -base64 32)"'

/** Reads the option, or `PAYSTILE_WEBHOOK_URL`. What is wrong joins the problems, in sentences that hold no secret. */
export function readWebhooksOption(
  option: unknown,
  network: Network,
  env: Environment,
  problems: string[],
): readonly Webhook[] {
  const url = env['PAYSTILE_WEBHOOK_URL'] || undefined
  const given = option ?? (url === undefined ? [] : [{ url }])
  if (!Array.isArray(given)) {
    problems.push("webhooks: must be a list of { url, secret }, such as [{ url: 'https://example.com/hook' }]")
    return []
  }
  const read = given.flatMap((one: unknown, index) => readOne(one, `webhooks.${index}`, network, env, problems))
  const names = read.map(({ name }) => name)
  if (new Set(names).size < names.length) problems.push('webhooks: has an address twice')
  return Object.freeze(read)
}

function readOne(
  given: unknown,
  path: string,
  network: Network,
  env: Environment,
  problems: string[],
): readonly Webhook[] {
  const before = problems.length
  const problem = (name: string, why: string) => void problems.push(`${path}.${name}: ${why}`)
  if (typeof given !== 'object' || given === null) {
    problems.push(`${path}: must be { url, secret }`)
    return []
  }
  const option = given as Readonly<Record<string, unknown>>
  for (const name of Object.keys(option).filter((one) => !known.includes(one))) {
    const guess = nearest(name, known)
    problem(name, `is not an option${guess ? `; did you mean ${guess}?` : ''}`)
  }
  const { url, events = ledgerEventKinds, allowPrivate = false } = option
  const unusable = whyUnusable(url, network, allowPrivate === true)
  if (unusable !== undefined) problem('url', unusable)
  const secret = option['secret'] ?? env['PAYSTILE_WEBHOOK_SECRET']
  const secrets = typeof secret === 'string' ? secret.trim().split(/\s+/) : []
  if (secrets.length === 0) problem('secret', `is missing; ${howToMake}`)
  else if (!secrets.every(isWebhookSecret))
    problem('secret', `must be whsec_ and 24 to 64 bytes in base64; ${howToMake}`)
  if (typeof allowPrivate !== 'boolean') problem('allowPrivate', 'must be true or false')
  if (!areKinds(events)) problem('events', `must be a list of ${ledgerEventKinds.join(', ')}`)
  if (problems.length > before || typeof url !== 'string' || !areKinds(events)) return []
  return [Object.freeze({ name: nameWebhook(url), url, secrets, events, allowPrivate: allowPrivate === true })]
}

function whyUnusable(url: unknown, network: Network, allowPrivate: boolean): string | undefined {
  if (typeof url !== 'string' || !isHttpUrl(url)) return 'must be an address such as https://example.com/hook'
  const { protocol, username, password, hostname } = new URL(url)
  if (username !== '' || password !== '') return 'must not have a password in it: the signature says who it is from'
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (isHere && network !== 'localnet' && !allowPrivate)
    return 'is this machine: if you mean it, set allowPrivate: true'
  if (protocol === 'http:' && network === 'mainnet' && !isHere) return 'must be https'
  return undefined
}

function areKinds(value: unknown): value is readonly LedgerEventKind[] {
  return Array.isArray(value) && value.length > 0 && value.every((kind) => ledgerEventKinds.includes(kind))
}
