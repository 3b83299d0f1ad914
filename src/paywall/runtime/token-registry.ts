/**
 * The tokens that a service's ledger has seen, besides the known ones.
 *
 * A ledger binds each code to one mint for good. Its amounts therefore keep their meaning, and quotes in a token that
 * is no longer configured can still be claimed. The configuration says which tokens to offer; the ledger alone says what
 * a code in a quote or in the books means.
 */
import {
  checkMints,
  isKnownCode,
  isSameMint,
  knownCodes,
  type Mint,
  type MintTable,
  pickMints,
  type TokenCode,
} from '../../core/money/tokens.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'

export interface TokenRegistry {
  /** Reads the ledger. */
  load(): Promise<void>
  /** The known tokens of these mints, and all bound tokens as of the last reading. */
  complete(mints: MintTable): MintTable
  /** The same, but reads the ledger again if one of these tokens is unbound: another server may have added it. */
  completeFor(codes: readonly TokenCode[], mints: MintTable): Promise<MintTable>
  /** Whether a token of this table is known, or bound to the mint of this table. */
  isBound(code: TokenCode, mints: MintTable): Promise<boolean>
  /** Binds a code to its mint. Returns the problem in one sentence if the code or the mint is bound otherwise. */
  bind(code: TokenCode, mint: Mint): Promise<string | undefined>
}

const prefix = 'token/'
const forever = Number.MAX_SAFE_INTEGER

export function createTokenRegistry(kv: KeyValueStore): TokenRegistry {
  let known: MintTable = {}
  const load = async (): Promise<void> => {
    const entries = await kv.list(prefix)
    const read = entries.flatMap(({ name, value }) => readEntry(name.slice(prefix.length), value))
    // Tokens are never unbound. Another reading may have ended meanwhile.
    known = { ...known, ...Object.fromEntries(read) }
  }
  const complete = (mints: MintTable): MintTable => ({ ...pickMints(knownCodes, mints), ...known })
  const loadFor = async (codes: readonly TokenCode[]): Promise<void> => {
    if (codes.some((code) => !isKnownCode(code) && known[code] === undefined)) await load()
  }
  return {
    load,
    complete,
    completeFor: async (codes, mints) => {
      await loadFor(codes)
      return complete(mints)
    },
    isBound: async (code, mints) => {
      if (isKnownCode(code)) return true
      await loadFor([code])
      const bound = known[code]
      return bound !== undefined && isSameMint(bound, mints[code])
    },
    bind: async (code, mint) => {
      if (isSameMint(mint, known[code])) return undefined
      await load()
      const conflict = explainConflict(code, mint, known)
      if (conflict !== undefined) return conflict
      await kv.put(`${prefix}${code}`, JSON.stringify(mint), forever)
      // Another server may have bound it in the meantime.
      await load()
      return explainConflict(code, mint, known)
    },
  }
}

function readEntry(code: string, value: string): readonly (readonly [string, Mint])[] {
  try {
    const mint: Mint = JSON.parse(value)
    return !isKnownCode(code) && checkMints({ [code]: mint }).length === 0 ? [[code, mint]] : []
  } catch {
    return []
  }
}

function explainConflict(code: string, mint: Mint, known: MintTable): string | undefined {
  const bound = known[code]
  if (bound) {
    if (isSameMint(bound, mint)) return undefined
    const facts = `${bound.address} with ${bound.decimals} decimals, of the program ${bound.tokenProgram}`
    return `tokens.${code}: is ${facts} in this ledger; choose another code for another mint`
  }
  const [same] = Object.entries(known).find(([, one]) => one.address === mint.address) ?? []
  return same === undefined ? undefined : `tokens.${code}.mint: is ${same} in this ledger; use that code`
}
