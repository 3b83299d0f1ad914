/**
 * Takes secrets out of whatever the doctor says. The checks repeat none to begin with; this is for errors of libraries
 * and systems, which may.
 */

/** Variables whose values are secret, and those that hold addresses with secrets in them. */
const secretName = /SECRET|PASSWORD|TOKEN|KEY/i
const addressName = /RPC|LEDGER|DATABASE|URL/i
/** These hold the path of a file, which is told so that somebody can mend it. */
const pathNames: readonly string[] = ['PAYSTILE_ACCOUNT_KEY', 'PAYSTILE_FAUCET_KEY', 'PAYSTILE_WALLET']
const shortest = 6

export interface SecretSource {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Texts that are secret. */
  readonly known: readonly string[]
  /** Addresses that may hold something secret. */
  readonly addresses: readonly string[]
}

export function createRedactor({ environment, known, addresses }: SecretSource): (text: string) => string {
  const named = (pattern: RegExp) =>
    Object.entries(environment).flatMap(([name, value]) =>
      value && pattern.test(name) && !pathNames.includes(name) ? value.split(',').map((part) => part.trim()) : [],
    )
  const whole = [...named(secretName), ...known]
  const parts = [
    ...whole,
    ...whole.map((secret) => secret.replace(/^\w+:/, '')),
    ...[...whole, ...named(addressName), ...addresses].flatMap(splitParts),
  ]
  const secrets = [...new Set(parts.filter((part) => part.length >= shortest))].sort((a, b) => b.length - a.length)
  return (text) =>
    secrets
      .reduce((rest, secret) => rest.replaceAll(secret, '…'), text)
      .replace(inAddress, '//…@')
      .replace(controls, ' ')
}

/** A finding is one line, and what a node or a database says of itself moves no cursor. */
const controls = /\p{Cc}+/gu

/** A name and password, wherever an address has them. */
const inAddress = /\/\/[^/\s@]+@/g

/** What of an address may be a key: its name and password, its path, and what stands in its query. */
function splitParts(address: string): readonly string[] {
  if (!/^\w+:\/\//.test(address) || !URL.canParse(address)) return []
  const { username, password, pathname, search, searchParams, protocol } = new URL(address)
  return [
    ...[username, password].flatMap((part) => [part, decode(part)]),
    // Of a database it is its name, and of a service its prefix; only nodes have keys there.
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
