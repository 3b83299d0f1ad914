/**
 * Removes secrets from text before it is logged: passwords and keys in addresses, `Authorization` tokens, the secret
 * parts of a proof, the secrets of webhooks and of the service, and private keys.
 *
 * It recognises secrets by their shape, so it can remove too much. A private key in base58 looks like a transaction
 * signature and is not recognised; key files are arrays of numbers.
 */
import { parseUrl } from '../encoding/url.ts'
import { attempt } from '../errors/attempt.ts'
import type { Facts, Log } from '../runtime.ts'

const gone = '[redacted]'

/** The maximum length of a checked text. The rest is dropped, so that no text passes unchecked. */
const longestText = 2_048

type Pattern = readonly [pattern: RegExp, instead: string]

/**
 * A password can contain slashes and at signs, so the match extends to the last @ of the word. It runs before paths are
 * removed.
 */
const addressPassword: Pattern = [/(?<![a-z0-9+.-])(?!file:)([a-z][a-z0-9+.-]{1,15}:\/\/)[^\s"'`<>]*@/gi, `$1${gone}@`]

/** Addresses of nodes and webhooks contain keys in the path or query, so only the host is shown. */
const addressPath: Pattern = [/\b((?:https?|wss?):\/\/[^\s"'`<>/?#]+)[/?#][^\s"'`<>]+/gi, '$1/…']

/** No pattern is slow on any text, because clients control some of the logged text. */
const patterns: readonly Pattern[] = [
  [/\b(bearer|basic|digest)\s{1,3}(?=\S{8})[^\s,;"']+/gi, `$1 ${gone}`],
  [/\bwh(?:sec|sk)_[^\s"',;]+/g, gone],
  // Keyrings: a name and at least 32 characters.
  [/\b(?:root|\d{1,3}):[^\s,;"']{32,}/g, gone],
  // Key files: arrays of 64 numbers. A few numbers are enough to recognise them.
  [/\[?(?:\s{0,3}\d{1,3}\s{0,3},){15,}[\d\s]*\]?/g, gone],
  [
    /((?:claim|sig|signature|payer|signer|password|passphrase|passwd|pwd|secret|token|api[_-]?key|key|auth|authorization|cookie|session)\s{0,3}=\s{0,3})[^\s;&,"']+/gi,
    `$1${gone}`,
  ],
  [
    /((?:claim|sig|password|passphrase|secret|api[_-]?key|authorization|cookie)\\?"\s{0,3}:\s{0,3}\\?")[^"\\]*/gi,
    `$1${gone}`,
  ],
]

/** The name of a fact can mark it as secret, regardless of its value. */
const secretNames = /secret|password|passphrase|authorization|cookie|api_?key|private_?key|payment-?proof/i

export interface RedactOptions {
  /** Texts that are secret regardless of their shape. Short ones are omitted, because they would match everywhere. */
  readonly secrets?: readonly string[]
  /** Addresses that can contain keys in the user name, password, path or query. */
  readonly addresses?: readonly string[]
  /** True shows the paths of addresses, for texts in which `addresses` lists all secret ones. */
  readonly showPaths?: boolean
  /** Environment variables. Their names tell whether they are secrets or addresses. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

const shortestSecret = 8
const secretVariable = /(?:SECRET|PASSWORD|PASSPHRASE|TOKEN|KEY)(?:_|\d*$)/i
const addressVariable = /RPC|LEDGER|DATABASE|URL/i
/** These variables hold a file path. The operator needs the path to correct the file. */
const pathVariable = /^PAYSTILE_(?:\w+_KEY|WALLET)$/

export type Redact = (text: string) => string

export function createRedact(options: RedactOptions = {}): Redact {
  // The longest first, because one secret can contain another.
  const known = [...new Set(listSecrets(options))]
    .filter((secret) => secret.length >= shortestSecret)
    .sort((a, b) => b.length - a.length)
  const rules = [addressPassword, ...(options.showPaths ? [] : [addressPath]), ...patterns]
  return (text) => {
    const whole = known.reduce((rest, secret) => rest.replaceAll(secret, gone), cut(text))
    return rules.reduce((rest, [pattern, instead]) => rest.replace(pattern, instead), whole)
  }
}

function listSecrets({ secrets = [], addresses = [], environment = {} }: RedactOptions): readonly string[] {
  const named = (pattern: RegExp) =>
    Object.entries(environment).flatMap(([name, value]) =>
      value && pattern.test(name) && !pathVariable.test(name)
        ? [value, ...value.split(',')].map((part) => part.trim())
        : [],
    )
  const whole = [...secrets, ...named(secretVariable)]
  return [
    ...whole,
    // The secret of a keyring entry without its name.
    ...whole.map((secret) => secret.replace(/^\w+:/, '')),
    ...[...whole, ...addresses, ...named(addressVariable)].flatMap(listAddressSecrets),
  ]
}

/** Lists the parts of an address that can be a key: user name and password, long path segments, and the query. */
function listAddressSecrets(address: string): readonly string[] {
  const url = /^\w+:\/\//.test(address) ? parseUrl(address) : undefined
  if (!url) return []
  const { username, password, pathname, search, searchParams, protocol } = url
  return [
    ...[username, password].flatMap((part) => [part, decode(part)]),
    // The path of a database is its name, and the path of a service is its prefix. Only node addresses have keys in the
    // path.
    ...(/^https?:/.test(protocol) ? pathname.split('/').filter((part) => part.length >= longPart) : []),
    search,
    ...searchParams.values(),
  ]
}

/** Keys are longer than words. */
const longPart = 12

function decode(part: string): string {
  return attempt(() => decodeURIComponent(part)) ?? part
}

/** Cuts at whole words, because the patterns do not recognise half a secret. */
function cut(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText).replace(/\S+$/, '')}…`
}

export function redactFacts(facts: Facts, redact: Redact): Facts {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => {
      if (typeof value !== 'string') return [name, value]
      return [name, secretNames.test(name) ? gone : redact(value)]
    }),
  )
}

/** Wraps a log so that no secret reaches it. For services with their own logger. */
export function redactLog(log: Log, redact: Redact = createRedact()): Log {
  const line =
    (level: keyof Log) =>
    (event: string, facts: Facts = {}): void =>
      log[level](redact(event), redactFacts(facts, redact))
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
