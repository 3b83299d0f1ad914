/**
 * Takes secrets out of whatever the doctor says. The checks repeat none to begin with; this is for errors of libraries
 * and systems, which may.
 */

/** Names of variables whose values are not for a screen that somebody may photograph. */
const secretName = /SECRET|PASSWORD|TOKEN|KEY|RPC|LEDGER|DATABASE/i
const shortest = 6

export interface SecretSource {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Others that are known to be secret. */
  readonly known: readonly string[]
}

export function createRedactor({ environment, known }: SecretSource): (text: string) => string {
  const named = Object.entries(environment).flatMap(([name, value]) => (value && secretName.test(name) ? [value] : []))
  const whole = [...named, ...known].flatMap((value) => value.split(',')).map((value) => value.trim())
  const parts = [...whole, ...whole.flatMap(partsOf)].filter((part) => part.length >= shortest)
  const secrets = [...new Set(parts)].sort((one, other) => other.length - one.length)
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text).replace(inAddress, '//…@')
}

/** A name and password, wherever an address has them. */
const inAddress = /\/\/[^/\s@]+@/g

/** What of a secret may turn up alone: the secret of a key, and of an address its path, its query and its password. */
function partsOf(secret: string): readonly string[] {
  const key = /^\w+:(.+)$/.exec(secret)?.[1]
  if (!URL.canParse(secret)) return key === undefined ? [] : [key]
  const { username, password, pathname, search, searchParams } = new URL(secret)
  const isFile = !/^\w+:\/\//.test(secret)
  return [
    ...[username, password].flatMap((part) => [part, decodeURIComponent(part)]),
    ...(isFile || /^postgres/.test(secret) ? [] : [pathname.slice(1)]),
    search,
    ...searchParams.values(),
    ...(key !== undefined && !secret.includes('//') ? [key] : []),
  ]
}
