/** Describes how to format an instruction: the names of its accounts, its arguments in order, and its signers. */
import { type Cursor, Unparsable } from './cursor.ts'

export interface Recipe {
  readonly type: string
  /** Names of the accounts, from the first on. An empty name marks an account that is required but not shown. */
  readonly accounts: readonly string[]
  readonly args?: (cursor: Cursor) => Record<string, unknown>
  /** The account after the named ones signs, alone or as a multisig with the accounts that follow. */
  readonly authority?: string
  /** All accounts after the named ones, as a list under this name. */
  readonly rest?: string
}

export interface Parsed {
  readonly type: string
  readonly info: Record<string, unknown>
}

export function follow(recipe: Recipe, cursor: Cursor, accounts: readonly string[]): Parsed {
  const needed = recipe.accounts.length + (recipe.authority === undefined ? 0 : 1)
  if (accounts.length < needed) throw new Unparsable()
  const info: Record<string, unknown> = {}
  for (const [index, name] of recipe.accounts.entries()) if (name !== '') info[name] = accounts[index]
  if (recipe.args) Object.assign(info, recipe.args(cursor))
  if (recipe.rest !== undefined) info[recipe.rest] = accounts.slice(recipe.accounts.length)
  if (recipe.authority !== undefined)
    Object.assign(info, listSigners(recipe.authority, accounts.slice(recipe.accounts.length)))
  return { type: recipe.type, info }
}

function listSigners(authority: string, [first = '', ...signers]: readonly string[]): Record<string, unknown> {
  if (signers.length === 0) return { [authority]: first }
  return { [`multisig${authority.charAt(0).toUpperCase()}${authority.slice(1)}`]: first, signers }
}
