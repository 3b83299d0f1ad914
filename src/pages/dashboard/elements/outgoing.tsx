/** The common parts of outgoing transactions: the state, and the identifiers on chain. */
import type { ComponentChildren } from 'preact'
import type { Outgoing, OutState } from '../data/outgoing.ts'
import { readService } from '../data/session.ts'
import { Count, Moment, Name, RefundedBadge } from './cells.tsx'
import { CopyButton, IdLine } from './copy.tsx'
import { Fact } from './fact.tsx'
import type { Column } from './table.tsx'

const tones: Readonly<Record<OutState, string>> = { planned: 'quiet', signed: 'warn', landed: 'good', dropped: 'bad' }
const means: Readonly<Record<OutState, string>> = {
  planned: 'Reserved. No signed transaction can land.',
  signed: 'Signed and sent. It lands within a minute or is signed again.',
  landed: 'Final on chain.',
  dropped: 'Dropped. Nothing was sent, and the reserved amounts are due again.',
}

/** The names of the states of a payout, a conversion or a refund. */
export type StateWords = Readonly<Record<OutState, string>> & { readonly isRefund?: true }

export function OutBadge({
  one,
  words,
}: {
  readonly one: Pick<Outgoing, 'state' | 'why'>
  readonly words: StateWords
}) {
  const { state, why } = one
  if (words.isRefund && state === 'landed') return <RefundedBadge title={means.landed} />
  return (
    <span class={`badge ${tones[state]}`} title={why === '' ? means[state] : `${means[state]} ${sentence(why)}`}>
      {words[state]}
    </span>
  )
}

export function Transaction({ tx }: { readonly tx: string | null }) {
  if (tx === null) return <span class="muted">none</span>
  return (
    <>
      <Name text={tx} />
      <CopyButton text={tx} what="the transaction" />
    </>
  )
}

/** The common columns of all lists of outgoing transactions. Their time is the one by which the service sorts them. */
export function stateColumn(words: StateWords): Column<Outgoing> {
  return {
    name: 'State',
    class: 'trail',
    cell: (one) => (
      <>
        <OutBadge one={one} words={words} />
        <span class="narrow">
          <Moment at={one.at} />
        </span>
      </>
    ),
  }
}

export const lastColumns: readonly Column<Outgoing>[] = [
  { name: 'Transaction', class: 'wide fill', cell: ({ tx }) => <Transaction tx={tx} /> },
  { name: 'When', class: 'when wide', cell: ({ at }) => <Moment at={at} /> },
]

/** The address of a public explorer; undefined for a chain of this machine. */
function findExplorer(tx: string): string | undefined {
  const network = readService()?.network
  if (network !== 'mainnet' && network !== 'devnet') return undefined
  return `https://explorer.solana.com/tx/${tx}${network === 'devnet' ? '?cluster=devnet' : ''}`
}

/** Empty for a chain without a public explorer. */
export function ExplorerLink({ tx }: { readonly tx: string }) {
  const href = findExplorer(tx)
  if (href === undefined) return null
  return (
    <a href={href} target="_blank" rel="noreferrer">
      Solana Explorer
    </a>
  )
}

/** The identifiers and the history. */
export function OutFacts({ one, children }: { readonly one: Outgoing; readonly children?: ComponentChildren }) {
  const { id, tx, slot, attempts, why, at, changedAt, state } = one
  return (
    <dl class="facts">
      {tx === null ? (
        <Fact name="Transaction">
          <span class="muted">none yet</span>
        </Fact>
      ) : (
        <IdLine name="Transaction" text={tx} />
      )}
      {tx !== null && findExplorer(tx) !== undefined && (
        <Fact name="Seen by others">
          <ExplorerLink tx={tx} />
        </Fact>
      )}
      <IdLine name="Memo" text={`paystile:${id}`} />
      {slot !== null && (
        <Fact name="Slot">
          <Count count={slot} />
        </Fact>
      )}
      <Fact name="Planned">
        <Moment at={at} isExact />
      </Fact>
      {state !== 'planned' && (
        <Fact name={lastWords[state]}>
          <Moment at={changedAt} isExact />
        </Fact>
      )}
      {attempts > 1 && (
        <Fact name="Signed">
          <Count count={attempts} /> times; only one can land
        </Fact>
      )}
      {why !== '' && <Fact name="Why">{sentence(why)}</Fact>}
      {children}
    </dl>
  )
}

const lastWords = { signed: 'Signed', landed: 'Final', dropped: 'Dropped' } as const

/** A command that reads the transaction from a node, independently of this service. */
export function checkCommand(tx: string): string {
  const params = JSON.stringify([tx, { encoding: 'jsonParsed', maxSupportedTransactionVersion: 0 }])
  const body = `{"jsonrpc":"2.0","id":1,"method":"getTransaction","params":${params}}`
  return `curl -s $RPC -H 'Content-Type: application/json' -d '${body}'`
}

/** Reasons arrive as parts of a sentence. */
export function sentence(text: string): string {
  return text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}
