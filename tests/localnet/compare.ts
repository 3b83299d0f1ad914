/** Compares the transcripts of two conversations, without the values that every chain makes up for itself. */
import type { Conversation, Transcript } from './session.ts'

export interface Difference {
  readonly question: string
  readonly path: string
  readonly mine: unknown
  readonly theirs: unknown
}

/** Both sides must have these, and of one type, but not of one value. */
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

/** Further values that differ between any two conversations, also with one chain. */
const varying: readonly { readonly question: RegExp; readonly path: RegExp }[] = [
  // Signatures of further signers, and bytes with signatures and blockhash inside.
  { question: / as /, path: /^\.result\.transaction(\[0\]|\.signatures\[1\])$/ },
  // The slot in the seeds of the table changes its address, the instruction, and the work of finding it.
  { question: /^table as /, path: /computeUnitsConsumed$|logMessages\[8\]$|instructions\[0\]\.data$/ },
]

/**
 * The transcript with the same names for signatures and the lookup table in every conversation, and with the type alone of
 * values that differ between any two.
 */
export function normalize({ transcript, signatures, table }: Conversation): Transcript {
  const names = new Map([...signatures].map(([name, signature]) => [signature, `<signature of ${name}>`]))
  names.set(table, '<lookup table>')
  return new Map(
    [...transcript].map(([question, answer]) => {
      const paths = varying.filter((one) => one.question.test(question)).map(({ path }) => path)
      return [question, rename(answer, '', { names, paths })]
    }),
  )
}

interface Renaming {
  readonly names: ReadonlyMap<string, string>
  readonly paths: readonly RegExp[]
}

function rename(value: unknown, path: string, renaming: Renaming): unknown {
  if (renaming.paths.some((one) => one.test(path))) return `<${kindOf(value)}>`
  if (typeof value === 'string') return renaming.names.get(value) ?? value
  if (Array.isArray(value)) return value.map((item, index) => rename(item, `${path}[${index}]`, renaming))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      madeUp.has(key) ? `<${kindOf(item)}>` : rename(item, `${path}.${key}`, renaming),
    ]),
  )
}

export function compareTranscripts(mine: Transcript, theirs: Transcript): readonly Difference[] {
  const differences: Difference[] = []
  for (const question of new Set([...mine.keys(), ...theirs.keys()])) {
    compare(mine.get(question), theirs.get(question), '', (path, one, other) => {
      differences.push({ question, path, mine: one, theirs: other })
    })
  }
  return differences
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
    else compare(left[key], right[key], inner, report)
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
