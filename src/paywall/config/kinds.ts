/** The value types of options. The schemas of library, API and gateway use them. */
import { z } from 'zod'
import { decodeAddress } from '../../core/encoding/base58.ts'
import { isHttpUrl } from '../../core/http/http.ts'
import { isTokenCode, isUnspendable, knownCodes, type TokenCode, tokenCodePattern } from '../../core/money/tokens.ts'

/** The options that a schema accepts. Editors show the doc comments of its properties. */
export type OptionsInput<Shape extends z.ZodRawShape> = z.input<z.ZodObject<Shape>>

/** The reader checks that the service knows the code. */
export const token = z
  .custom<TokenCode>(isTokenCode, {
    error: `must be one of ${knownCodes.join(', ')}, or a code of tokens`,
    params: { choices: [...knownCodes] },
  })
  .meta({ type: 'string', pattern: tokenCodePattern.source, examples: [...knownCodes] })
export const flag = z.boolean({ error: 'must be true or false' })
export const text = z.string({ error: 'must be text' })
export const number = z.number({ error: 'must be a number' })
/** Money in units of its token. The reader knows the number of decimals. */
export const decimal = z.union([z.number(), z.string()], { error: 'must be a number or decimal text' })
export const list = <Item extends z.ZodType>(item: Item, error: string) => z.array(item, { error }).readonly()
export const callback = <Call extends (...args: never[]) => unknown>() =>
  z.custom<Call>((value) => typeof value === 'function', 'must be a function')

const notWhole = (least: number, most: number) => `must be a whole number from ${least} to ${most}`
export const whole = (least: number, most: number) =>
  z
    .number({ error: notWhole(least, most) })
    .refine((value) => Number.isInteger(value) && value >= least && value <= most, { error: notWhole(least, most) })
export const seconds = (least: number, most: number) =>
  z
    .number({ error: 'must be a number of seconds' })
    .min(least, { error: `must be at least ${least}` })
    .max(most, { error: `must be at most ${most}` })
export const wholeSeconds = (least: number, most: number) =>
  seconds(least, most).refine(Number.isInteger, { error: 'must be a whole number of seconds' })

const notAddress = 'is not a Solana address'
export const address = z.string(notAddress).refine((value) => decodeAddress(value) !== undefined, {
  error: ({ input }) => (isEthereumAddress(input) ? `${notAddress} but an Ethereum address` : notAddress),
})

export const wallet = address.refine(
  (text) => !isUnspendable(text),
  'is a program or a mint, not a wallet, so the money would be lost',
)

function isEthereumAddress(value: unknown): boolean {
  return typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value)
}

export const url = z.string().refine(isHttpUrl, { error: 'must be an http or https URL' })
const notLabel = 'must be 1 to 64 printable characters without spaces'
export const label = z.string(notLabel).regex(/^[\x21-\x7e]{1,64}$/, notLabel)
const notApiKey = 'must be printable characters without spaces'
export const apiKey = z.string(notApiKey).regex(/^[\x21-\x7e]{1,1024}$/, notApiKey)
const notHeader = 'must be a header name'
export const headerName = z.string(notHeader).regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, notHeader)

/** A key that signs: the path of a key file, 64 secret bytes, a kit signer or a wallet. */
export type AccountKey =
  | string
  | ArrayLike<number>
  | { readonly address: string }
  | { readonly publicKey: { toBytes(): Uint8Array }; readonly secretKey: Uint8Array }

export const accountKey = z
  .custom<AccountKey>(
    isAccountKey,
    'must be the path of a key file, 64 secret bytes, a kit signer, a Keypair or a wallet',
  )
  // In a file, the key is a path.
  .meta({ type: 'string' })

function isAccountKey(value: unknown): boolean {
  if (typeof value === 'string') return value !== ''
  if (typeof value !== 'object' || value === null) return false
  if ('length' in value) return value.length === 64 || value.length === 32
  return 'address' in value || 'secretKey' in value
}
