/** Sends the transactions that clients of other protocols submit, and signs them as sponsor. */
import { getBase64Decoder } from '@solana/kit'
import { isFields } from '../../core/encoding/fields.ts'
import type { SentState, Sponsor, Submitter } from '../../core/ports/sponsor.ts'
import type { Clock, Verifier } from '../../core/runtime.ts'
import { readFunds } from '../accounts/balances.ts'
import type { Wallet } from '../keys/keypair.ts'
import { openTransaction, readSignature } from '../read/decode.ts'
import type { SignedTransactions } from '../read/signed-transactions.ts'
import { describeError } from '../rpc/json.ts'
import { describeFailure, resultValue } from '../rpc/results.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { type Lifetime, signUnchanged } from '../send/message.ts'
import { type PaymentFate, readFate, readFates, readLifetime, submit } from '../send/send.ts'
import { withoutSignatures } from './payment-drafts.ts'
import { readSubmission } from './submission.ts'

export interface SubmitterParts {
  readonly rpc: Rpc
  readonly genesis: string
  readonly verifier: Verifier
  readonly clock: Clock
}

const refreshMs = 2_000
/** A blockhash is valid for about a minute. */
const staleMs = 20_000

export interface RunningSubmitter extends Submitter {
  stop(): void
}

export function createSubmitter({ rpc, genesis, verifier, clock }: SubmitterParts): RunningSubmitter {
  const blockhashes = createRefresh<Lifetime>(() => readLifetime(rpc), clock)
  return {
    start: blockhashes.start,
    stop: blockhashes.stop,
    read: (bytes, sponsor) => readSubmission(bytes, sponsor, verifier),
    recent: () => {
      const found = blockhashes.current()
      return found && clock.monotonic() - found.at < staleMs ? found.value : undefined
    },
    simulate: async (bytes) => {
      const wire = encodeWire(withoutSignatures(bytes, openTransaction(bytes)))
      const options = { encoding: 'base64', commitment: 'confirmed', sigVerify: false }
      const answer = await rpc.call('simulateTransaction', [wire, options])
      const value = resultValue(answer)
      if (!isFields(value)) return { kind: 'unavailable', why: describeFailure(answer, 'the node did not simulate it') }
      const error = value['err'] ?? null
      if (error === null) return { kind: 'succeeds' }
      return { kind: 'fails', isStale: error === 'BlockhashNotFound', why: describeError(error) }
    },
    send: (signed, options) => submit(rpc, signed, options),
    readState: async (signed) => describeFate(await readFate({ rpc, genesis }, signed)),
    readStates: async (all) => (await readFates({ rpc, genesis }, all)).map(describeFate),
  }
}

function describeFate({ kind }: PaymentFate): SentState {
  return kind === 'unknown' ? 'open' : kind
}

const base64 = getBase64Decoder()

/** Encodes signed bytes for a node. */
export function encodeWire(bytes: Uint8Array): string {
  return base64.decode(bytes)
}

export interface RunningSponsor extends Sponsor {
  /** Resolves when the balance was read once, or could not be read. */
  ready(): Promise<void>
  stop(): void
}

const balanceMs = 10_000

interface SponsorWalletParts extends Pick<SubmitterParts, 'rpc' | 'clock' | 'verifier'> {
  readonly signed: SignedTransactions
}

/** `onBalance` is called with every balance that was read. */
export function createSponsor(
  { rpc, clock, verifier, signed }: SponsorWalletParts,
  wallet: Wallet,
  onBalance: (lamports: bigint) => void,
): RunningSponsor {
  const balances = createRefresh(
    async () => {
      const funds = await readFunds(rpc, { wallet: wallet.address, recipient: wallet.address, mints: [] })
      if (funds.kind === 'unavailable') return undefined
      onBalance(funds.lamports)
      return funds.lamports
    },
    clock,
    balanceMs,
  )
  const isRead = balances.start()
  return {
    address: wallet.address,
    ready: () => isRead,
    balance: () => balances.current()?.value,
    stop: balances.stop,
    sign: async ({ bytes }) => {
      try {
        const wire = await signUnchanged(bytes, wallet, verifier)
        const transaction = openTransaction(wire)
        // The payer's signature was verified when the transaction was read, the sponsor's just now.
        signed.add(encodeWire(wire), transaction)
        return { kind: 'signed', wire, signature: readSignature(transaction) }
      } catch (error) {
        // A signer's own message may contain data that must not be logged.
        return { kind: 'unavailable', why: error instanceof Error ? error.name : 'unknown' }
      }
    },
  }
}

interface Refreshed<Value> {
  readonly value: Value
  /** In monotonic milliseconds, before the question was sent. */
  readonly at: number
}

/** Keeps the last answer to a question that is asked again and again. */
function createRefresh<Value>(ask: () => Promise<Value | undefined>, clock: Clock, everyMs = refreshMs) {
  let found: Refreshed<Value> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = true
  const run = async (): Promise<void> => {
    const at = clock.monotonic()
    const value = await ask().catch(() => undefined)
    if (value !== undefined) found = { value, at }
    if (!isStopped) timer = setTimeout(run, everyMs).unref()
  }
  let first: Promise<void> | undefined
  return {
    current: () => found,
    /** Resolves after the first answer, or the first failure. */
    start: (): Promise<void> => {
      if (!isStopped) return first ?? Promise.resolve()
      isStopped = false
      first = run()
      return first
    },
    stop: () => {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
