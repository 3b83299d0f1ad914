/** Mints, token accounts and multisigs in the format `jsonParsed`. */
import type { Account } from '../accounts/account.ts'
import { readTokenParties } from '../accounts/accounts.ts'
import { readMint, uiAmount } from '../transaction/token-balances.ts'
import { cursorOver } from './cursor.ts'
import { formatExtension, parseExtensions } from './extension.ts'

export type Lookup = (address: string) => Account | undefined

const multisigBytes = 355

export function parseTokenAccount(account: Account, get: Lookup, nowMs: number): unknown {
  if (account.data.length === multisigBytes) return parseMultisig(account.data)
  if (readMint(account)) return parseMint(account)
  return readTokenParties(account) ? parseHolding(account, get, nowMs) : undefined
}

function parseMint(account: Account): unknown {
  const mint = readMint(account)
  if (!mint) return undefined
  return {
    info: {
      decimals: mint.decimals,
      freezeAuthority: mint.freezeAuthority ?? null,
      isInitialized: true,
      mintAuthority: mint.authority ?? null,
      supply: mint.supply.toString(),
      ...extensionsInfo(account),
    },
    type: 'mint',
  }
}

function parseHolding(account: Account, get: Lookup, nowMs: number): unknown {
  const cursor = cursorOver(account.data)
  const [mint, owner, amount] = [cursor.key(), cursor.key(), cursor.u64()]
  const delegate = cursor.optionalKey(4)
  const state = ['uninitialized', 'initialized', 'frozen'][cursor.u8()]
  const native = cursor.u32() === 1
  const reserve = cursor.u64()
  const delegated = cursor.u64()
  const closeAuthority = cursor.optionalKey(4)
  const money = amountFormatter(get(mint), nowMs)
  if (!money) return undefined
  return {
    info: {
      isNative: native,
      mint,
      owner,
      state,
      tokenAmount: money(amount),
      ...(closeAuthority === undefined ? {} : { closeAuthority }),
      ...(delegate === undefined ? {} : { delegate, delegatedAmount: money(delegated) }),
      ...(native ? { rentExemptReserve: money(reserve) } : {}),
      ...extensionsInfo(account),
    },
    type: 'account',
  }
}

function parseMultisig(data: Uint8Array): unknown {
  const cursor = cursorOver(data)
  const [required, valid, initialized] = [cursor.u8(), cursor.u8(), cursor.u8()]
  if (initialized !== 1) return undefined
  const signers = Array.from({ length: Math.min(valid, 11) }, () => cursor.key())
  return {
    info: { isInitialized: true, numRequiredSigners: required, numValidSigners: valid, signers },
    type: 'multisig',
  }
}

function extensionsInfo({ data }: Account): Record<string, unknown> {
  if (data.length <= 165) return {}
  return { extensions: parseExtensions(data).map(formatExtension) }
}

/** Formats amounts for display by this mint. Some mints apply interest or a multiplier. */
export function amountFormatter(mint: Account | undefined, nowMs: number): ((amount: bigint) => unknown) | undefined {
  const read = readMint(mint)
  if (!mint || !read) return undefined
  const scale = findScale(mint, Math.floor(nowMs / 1000))
  return (amount) => (scale ? scale(amount, read.decimals) : uiAmount(amount, read.decimals))
}

type Scale = (amount: bigint, decimals: number) => unknown

function findScale({ data }: Account, now: number): Scale | undefined {
  for (const extension of parseExtensions(data)) {
    const cursor = cursorOver(extension.data)
    if (extension.name === 'scaledUiAmountConfig') {
      cursor.key()
      const [before, from, after] = [cursor.f64(), Number(cursor.i64()), cursor.f64()]
      const factor = now >= from ? after : before
      return (amount, decimals) => scaled(amount, Math.trunc(Number(amount) * factor) / 10 ** decimals, decimals)
    }
    if (extension.name === 'interestBearingConfig') {
      cursor.key()
      const [start, before, updated, rate] = [Number(cursor.i64()), cursor.i16(), Number(cursor.i64()), cursor.i16()]
      const growth = (perYear: number, seconds: number) => Math.exp((perYear * seconds) / (secondsPerYear * 10_000))
      const factor = growth(before, updated - start) * growth(rate, now - updated)
      return (amount, decimals) => scaled(amount, (Number(amount) * factor) / 10 ** decimals, decimals)
    }
  }
  return undefined
}

const secondsPerYear = 60 * 60 * 24 * 365.24

function scaled(amount: bigint, shown: number, decimals: number): unknown {
  const fixed = shown.toFixed(decimals)
  const text = fixed.includes('.') ? fixed.replace(/\.?0+$/, '') : fixed
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text }
}
