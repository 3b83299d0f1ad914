/**
 * Base64 of ASCII text, in the standard alphabet (with padding) and the URL-safe one (without).
 *
 * The headers of a 402 are base64 of long texts that differ in few places. `prepareBase64` encodes the constant parts
 * once. Base64 joins groups of three bytes, so a constant part has three encodings, one for each position in a group.
 */
export type Base64Alphabet = 'standard' | 'url'

/** A constant part at one position in a group. `head` completes the group before it, `tail` begins the one after it. */
interface Fixed {
  readonly head: string
  readonly body: string
  readonly tail: string
}

/**
 * Prepares the base64 of `constants[0] + values[0] + constants[1] + values[1] + …`. There is one constant more than
 * there are values. All text must be ASCII.
 */
export function prepareBase64(
  constants: readonly string[],
  alphabet: Base64Alphabet,
): (values: readonly string[]) => string {
  const [first = '', ...others] = constants
  const last = others.length - 1
  const start = fixAt(first, 0, alphabet, last < 0)
  const fixed = others.map((): (Fixed | undefined)[] => [undefined, undefined, undefined])

  const fix = (index: number, position: number): Fixed => {
    const made = fixAt(others[index] ?? '', position, alphabet, index === last)
    const row = fixed[index]
    if (row) row[position] = made
    return made
  }

  return (values) => {
    let text = start.body
    let open = start.tail
    for (let index = 0; index < others.length; index += 1) {
      open += values[index] ?? ''
      const position = open.length % 3
      const part = fixed[index]?.[position] ?? fix(index, position)
      open += part.head
      const rest = open.length % 3
      // A constant that is too short to complete its group has no body and no tail.
      text += rest === 0 ? encodeBase64(open, alphabet) + part.body : encodeBase64(open.slice(0, -rest), alphabet)
      open = rest === 0 ? part.tail : open.slice(-rest)
    }
    return open === '' ? text : text + encodeBase64(open, alphabet)
  }
}

function fixAt(constant: string, position: number, alphabet: Base64Alphabet, isLast: boolean): Fixed {
  const missing = (3 - position) % 3
  const head = constant.slice(0, missing)
  const rest = constant.slice(missing)
  const whole = isLast ? rest.length : rest.length - (rest.length % 3)
  return { head, body: encodeBase64(rest.slice(0, whole), alphabet), tail: rest.slice(whole) }
}

/** Encodes ASCII text. */
export function encodeBase64(text: string, alphabet: Base64Alphabet): string {
  const encoded = btoa(text)
  return alphabet === 'standard' || !/[+/=]/.test(encoded)
    ? encoded
    : encoded.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Decodes standard base64 with padding. Undefined for all other spellings. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const binary = decode(text)
  if (binary === undefined) return undefined
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index)
  return bytes
}

/** Decodes URL-safe base64 with or without padding. Undefined for all other spellings. */
export function decodeBase64urlPadded(text: string): Uint8Array | undefined {
  if (/[+/]/.test(text)) return undefined
  const standard = text.replaceAll('-', '+').replaceAll('_', '/')
  return decodeBase64(standard.endsWith('=') ? standard : standard + '='.repeat((4 - (standard.length % 4)) % 4))
}

/** `atob` ignores spaces, missing padding and stray bits. The comparison refuses them. */
function decode(text: string): string | undefined {
  try {
    const binary = atob(text)
    return btoa(binary) === text ? binary : undefined
  } catch {
    return undefined
  }
}
