/** The answers that `paystile init` needs, each checked by the rules of the gateway. */
import { isOwnPath } from '../../api/http/paths.ts'
import { canHaveKey } from '../../chain/keys/curve.ts'
import { decodeAddress } from '../../core/encoding/base58.ts'
import { isHttpUrl } from '../../core/http/http.ts'
import { parseUnits } from '../../core/money/money.ts'
import {
  findDecimals,
  isKnownCode,
  isNetwork,
  isUnspendable,
  knownCodes,
  knownMints,
  type Network,
  type TokenCode,
} from '../../core/money/tokens.ts'

export interface Answers {
  readonly upstream: string
  readonly path: string
  readonly price: string
  readonly token: TokenCode
  readonly network: Network
  /** Undefined creates a wallet, on a localnet. */
  readonly recipient: string | undefined
}

/** The value, or a sentence that states the problem. */
export type Checked<T> = { readonly value: T } | { readonly problem: string }

const wrong = (problem: string) => ({ problem })

export function readUpstream(text: string): Checked<string> {
  const url = text.trim()
  if (!isHttpUrl(url)) return wrong(`"${url}" is not an http or https address; use the form http://127.0.0.1:3000`)
  const { username, search, hash } = new URL(url)
  // The file is shared, so it must not hold credentials.
  if (username !== '')
    return wrong('the address must not contain a user name or password; use the option headers instead')
  if (search !== '' || hash !== '') return wrong('the address must not have a query')
  return { value: url.replace(/\/$/, '') }
}

export function readPath(text: string): Checked<string> {
  const path = text.trim()
  if (!/^\/[\x21-\x7e]*$/.test(path) || /[?#]/.test(path)) {
    return wrong(`"${path}" is not a path; use /api/weather, or /api/* for everything below /api`)
  }
  if (isOwnPath(path)) return wrong(`${path} is reserved for the service itself; choose another path`)
  return { value: path }
}

export function readNetwork(text: string): Checked<Network> {
  const network = text.trim().toLowerCase()
  return isNetwork(network) ? { value: network } : wrong(`"${text}" is not localnet, devnet or mainnet`)
}

export function readTokenCode(text: string): Checked<TokenCode> {
  const code = text.trim().toUpperCase()
  if (isKnownCode(code)) return { value: code }
  return wrong(`"${text}" is not a token; use one of ${knownCodes.join(', ')}, and add others to paystile.yaml later`)
}

/** Checks a price before the network is known: test networks have all three tokens. */
export function readPrice(text: string, token: TokenCode): Checked<string> {
  const decimals = findDecimals(token, knownMints.devnet) ?? 0
  const units = parseUnits(text.trim(), decimals)
  if (units !== undefined && units > 0n) return { value: text.trim() }
  return wrong(
    `"${text}" is not a price in ${token}; use a decimal above zero with at most ${decimals} decimal places, such as 0.01`,
  )
}

/** `/api/* 0.01 USDC`: path, price and token in one line. */
export function readOffer(line: string): Checked<Pick<Answers, 'path' | 'price' | 'token'>> {
  const [path = '', price = '', code = 'USDC', ...rest] = line.trim().split(/\s+/)
  if (price === '' || rest.length > 0) return wrong('enter path, price and token, such as /api/* 0.01 USDC')
  const [checkedPath, token] = [readPath(path), readTokenCode(code)]
  if ('problem' in checkedPath) return checkedPath
  if ('problem' in token) return token
  const checkedPrice = readPrice(price, token.value)
  if ('problem' in checkedPrice) return checkedPrice
  return { value: { path: checkedPath.value, price: checkedPrice.value, token: token.value } }
}

export function readRecipient(text: string): Checked<string> {
  const address = text.trim()
  if (decodeAddress(address) === undefined) return wrong(`"${address}" is not a Solana address`)
  if (isUnspendable(address))
    return wrong(`${address} is a program or a mint, not a wallet, so the money would be lost`)
  if (!canHaveKey(address)) {
    return wrong(
      `${address} is the address of a token account or a program; use the address of the wallet ` +
        '(for the vault of a multisig, edit paystile.yaml by hand)',
    )
  }
  return { value: address }
}

/** Checks that need several answers. */
export function checkTogether({ network, token }: Pick<Answers, 'network' | 'token'>): string | undefined {
  if (findDecimals(token, knownMints[network]) !== undefined) return undefined
  return `${token} has no default mint on ${network}; start with USDC or SOL, and add mints.${token} to paystile.yaml later`
}
