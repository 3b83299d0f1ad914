/** Compares two conversations, leaving out what every chain makes up for itself. */
import type { Conversation } from './session.ts'

export interface Difference {
  readonly question: string
  readonly path: string
  readonly mine: unknown
  readonly theirs: unknown
}

/** What must be there on both sides and of one type, but not of one value. */
const madeUp: ReadonlySet<string> = new Set([
  'apiVersion',
  'blockHeight',
  'blockTime',
  'blockhash',
  'bumpSeed',
  'lastExtendedSlot',
  'lastValidBlockHeight',
  'parentSlot',
  'previousBlockhash',
  'recentBlockhash',
  'recentSlot',
  'slot',
])

export function compareConversations(mine: Conversation, theirs: Conversation): readonly Difference[] {
  const differences: Difference[] = []
  const [left, right] = [named(mine), named(theirs)]
  for (const question of new Set([...left.keys(), ...right.keys()])) {
    compare(left.get(question), right.get(question), '', (path, one, other) => {
      differences.push({ question, path, mine: one, theirs: other })
    })
  }
  return differences
}

/** The transcript with signatures and the lookup table's address under names that both sides share. */
function named({ transcript, signatures, table }: Conversation): Map<string, unknown> {
  const names = new Map([...signatures].map(([name, signature]) => [signature, `<signature of ${name}>`]))
  names.set(table, '<lookup table>')
  return new Map([...transcript].map(([question, answer]) => [question, rename(answer, names)]))
}

function rename(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return names.get(value) ?? value
  if (Array.isArray(value)) return value.map((item) => rename(item, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rename(item, names)]))
}

type Report = (path: string, mine: unknown, theirs: unknown) => void

function compare(mine: unknown, theirs: unknown, path: string, report: Report): void {
  if (kindOf(mine) !== kindOf(theirs)) {
    report(path, mine, theirs)
    return
  }
  if (Array.isArray(mine) && Array.isArray(theirs)) {
    if (mine.length !== theirs.length) report(`${path}.length`, mine.length, theirs.length)
    else for (const [index, item] of mine.entries()) compare(item, theirs[index], `${path}[${index}]`, report)
    return
  }
  if (typeof mine !== 'object' || mine === null || theirs === null) {
    if (mine !== theirs) report(path, mine, theirs)
    return
  }
  const [left, right] = [mine as Record<string, unknown>, theirs as Record<string, unknown>]
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const inner = `${path}.${key}`
    if (!(key in left) || !(key in right)) report(inner, left[key], right[key])
    else if (!madeUp.has(key)) compare(left[key], right[key], inner, report)
    else if (kindOf(left[key]) !== kindOf(right[key])) report(inner, left[key], right[key])
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
