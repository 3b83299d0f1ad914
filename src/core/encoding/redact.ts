/**
 * Takes out of a text what must not be read by those who read logs, wherever it stands: passwords and keys in addresses,
 * tokens of `Authorization`, the secret parts of a proof, secrets of webhooks and of the service, private keys.
 *
 * It goes by what secrets look like, so it may take out too much. A private key in base58 looks like a transaction's
 * signature and is not found: key files are arrays of numbers.
 */
import type { Facts, Log } from '../runtime.ts'

const gone = '[redacted]'

/** How much of a text is looked at. What is behind it is dropped, so that nothing passes unseen. */
const longestText = 2_048

type Pattern = readonly [pattern: RegExp, instead: string]

/** A password may hold slashes and at signs: up to the last @ of the word. It is removed before paths are. */
const addressPassword: Pattern = [/(?<![a-z0-9+.-])(?!file:)([a-z][a-z0-9+.-]{1,15}:\/\/)[^\s"'`<>]*@/gi, `$1${gone}@`]

/** Addresses of nodes and webhooks carry keys in their path or query, so only their host is shown. */
const addressPath: Pattern = [/\b((?:https?|wss?):\/\/[^\s"'`<>/?#]+)[/?#][^\s"'`<>]+/gi, '$1/…']

/** None of them takes long on any text: strangers write some of what is logged. */
const patterns: readonly Pattern[] = [
  [/\b(bearer|basic|digest)\s{1,3}(?=\S{8})[^\s,;"']+/gi, `$1 ${gone}`],
  [/\bwh(?:sec|sk)_[^\s"',;]+/g, gone],
  // Keyrings: a name and 32 characters or more.
  [/\b(?:root|\d{1,3}):[^\s,;"']{32,}/g, gone],
  // Key files: 64 numbers, of which a few are enough to know them by.
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

/** What a fact is called can give it away, whatever it looks like. */
const secretNames = /secret|password|passphrase|authorization|cookie|api_?key|private_?key|payment-?proof/i

export interface RedactOptions {
  /** Texts that are secret whatever they look like. Short ones are omitted: they would be found everywhere. */
  readonly secrets?: readonly string[]
  /** Addresses that may hold keys: in their name and password, their path or their query. */
  readonly addresses?: readonly string[]
  /** True shows the paths of addresses, for texts whose secret addresses are all given above. */
  readonly showPaths?: boolean
  /** Variables are secrets or addresses by their names. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

const shortestSecret = 8
const secretVariable = /(?:SECRET|PASSWORD|PASSPHRASE|TOKEN|KEY)(?:_|\d*$)/i
const addressVariable = /RPC|LEDGER|DATABASE|URL/i
/** These hold the path of a file. An operator needs it to correct the file. */
const pathVariable = /^PAYSTILE_(?:\w+_KEY|WALLET)$/

export type Redact = (text: string) => string

export function createRedact(options: RedactOptions = {}): Redact {
  // The longest first: one may be a part of another.
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
    // The secret of a keyring's entry alone.
    ...whole.map((secret) => secret.replace(/^\w+:/, '')),
    ...[...whole, ...addresses, ...named(addressVariable)].flatMap(listAddressSecrets),
  ]
}

/** Parts of an address that may be a key: name and password, long parts of its path, and its query. */
function listAddressSecrets(address: string): readonly string[] {
  if (!/^\w+:\/\//.test(address) || !URL.canParse(address)) return []
  const { username, password, pathname, search, searchParams, protocol } = new URL(address)
  return [
    ...[username, password].flatMap((part) => [part, decode(part)]),
    // The path of a database is its name, and that of a service its prefix; only nodes have keys there.
    ...(/^https?:/.test(protocol) ? pathname.split('/').filter((part) => part.length >= longPart) : []),
    search,
    ...searchParams.values(),
  ]
}

/** Keys are longer than words. */
const longPart = 12

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Whole words only: half a secret is not known for one. */
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

/** The same log, to which no secret gets through: for those who bring a logger of their own. */
export function redactLog(log: Log, redact: Redact = createRedact()): Log {
  const line =
    (level: keyof Log) =>
    (event: string, facts: Facts = {}): void =>
      log[level](redact(event), redactFacts(facts, redact))
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
