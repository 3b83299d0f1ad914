/**
 * Sends from one wallet without double payments. The caller stores a signed transaction before it is sent, and an
 * outcome is reported only when it is certain.
 */
import { getBase64Decoder } from '@solana/kit'
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'
import { maxUnits } from '../../core/money/money.ts'
import type { Mint } from '../../core/money/tokens.ts'
import type {
  Holdings,
  OutgoingWallet,
  Posting,
  SignedBytes,
  Signing,
  TransferOrder,
} from '../../core/payouts/outgoing-wallet.ts'
import type { Clock, Log, Verifier } from '../../core/runtime.ts'
import { readFunds } from '../accounts/balances.ts'
import { readOpeningCost, readStates } from '../accounts/destinations.ts'
import type { Wallet } from '../keys/keypair.ts'
import { longestBytes, openTransaction, readSignature } from '../read/decode.ts'
import { createNodeReader } from '../read/node-reader.ts'
import { createInquiry, type Finding, inquire } from '../read/quorum.ts'
import { coalesceCalls } from '../rpc/coalesce.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { composeMessage, type SignedPayment, signDraft, unsigned } from '../send/message.ts'
import { readOutcome } from '../send/outcome.ts'
import { readLifetime, submit } from '../send/send.ts'
import { createSimulation } from '../send/simulate.ts'
import { explainFailure } from './explain-failure.ts'
import { composeBatch, type FeeTerms, fitInto, signatureLamports } from './transfer-batch.ts'

export interface OutgoingWalletParts extends FeeTerms {
  readonly rpc: Rpc
  /** The only chain for which the wallet signs. */
  readonly genesis: string
  /** Sends the money, signs, and pays the fees. */
  readonly wallet: Wallet
  readonly verifier: Verifier
  readonly clock: Clock
  readonly log: Log
}

const hedgeMs = 500

export function createOutgoingWallet(given: OutgoingWalletParts): OutgoingWallet {
  // Many outgoing transactions are signed and followed concurrently.
  const parts = { ...given, rpc: coalesceCalls(given.rpc) }
  const { rpc, genesis, wallet, verifier, clock, log } = parts
  const pin = { hash: genesis }
  const nodeReaders = rpc.nodes.map((node) => createNodeReader({ node, pin, verifier, clock, log }))
  const simulate = createSimulation(rpc, genesis)
  return {
    wallet: wallet.address,
    holdings: (mints) => readHoldings(rpc, wallet.address, mints),
    readAccounts: async (owners, mint) => (mint ? readStates(rpc.call, owners, mint) : owners.map(() => 'ready')),
    openingCost: (mint) => readOpeningCost(rpc.call, mint),
    fit: fitInto,
    sign: (order) => sign(parts, simulate, order),
    send: async (signed) => post(rpc, toSignedPayment(signed)),
    readOutcome: async (signed) => readOutcome({ rpc, genesis }, toSignedPayment(signed)),
    read: async (signature) => {
      const inquiry = createInquiry(signature, 'finalized')
      let finding: Finding = { kind: 'missing' }
      // Each round starts with two other nodes, so that nodes with pruned history do not hide the others.
      for (let asked = 0; asked < nodeReaders.length && finding.kind !== 'found'; asked += 2)
        finding = await inquire(inquiry, nodeReaders, { isEager: true, hedgeMs, onHedge: () => {} })
      return finding.kind === 'found' ? finding.effect : undefined
    },
  }
}

async function readHoldings(rpc: Rpc, wallet: string, mints: readonly Mint[]): Promise<Holdings | undefined> {
  const funds = await readFunds(rpc, { wallet, recipient: wallet, mints })
  if (funds.kind === 'unavailable') return undefined
  return { lamports: funds.lamports, units: funds.tokens.map(({ units }) => units) }
}

async function sign(
  { rpc, wallet, ...terms }: OutgoingWalletParts,
  simulate: ReturnType<typeof createSimulation>,
  order: TransferOrder,
): Promise<Signing> {
  const fault = faultIn(order, terms)
  if (fault !== undefined) return { kind: 'impossible', why: fault }
  const lifetime = await readLifetime(rpc)
  if (!lifetime) return { kind: 'unavailable', why: 'no node returned a recent blockhash' }
  const batch = await composeBatch(order, wallet.address, terms)
  const draft = unsigned(composeMessage(batch.instructions, lifetime, wallet.address))
  if (draft.length > longestBytes) {
    const why = `${order.transfers.length} transfers do not fit into one transaction; send at most ${fitInto(order)}`
    return { kind: 'impossible', why }
  }
  const simulation = await simulate(draft)
  if (simulation.kind === 'unavailable') return simulation
  if (simulation.kind === 'bad') {
    const { error, call } = simulation
    const keys = openTransaction(draft).keys.map(encodeBase58)
    return explainFailure(call, { order, batch, wallet: wallet.address, error, keys })
  }
  return signDraft(draft, wallet, { ...lifetime, slots: [lifetime.slot, simulation.slot] })
}

/** The problem with an order that is independent of the chain's state. */
function faultIn({ transfers }: TransferOrder, { maxFeeLamports }: FeeTerms): string | undefined {
  if (transfers.length === 0) return 'there is nothing to send'
  if (transfers.some(({ units }) => units <= 0n || units > maxUnits)) return 'an amount is out of range'
  if (transfers.some(({ owner }) => decodeAddress(owner) === undefined)) return 'an address is invalid'
  if (maxFeeLamports !== undefined && maxFeeLamports < signatureLamports)
    return `a transaction costs at least ${signatureLamports} lamports, but the limit is ${maxFeeLamports}`
  return undefined
}

/** Sends to every node, because one can accept and lose the transaction. One acceptance is sufficient. */
async function post(rpc: Rpc, payment: SignedPayment): Promise<Posting> {
  const postings = rpc.nodes.map((node) => submit(node, payment))
  const isSent = postings.map((posting) =>
    posting.then((one) => (one.kind === 'sent' ? one : Promise.reject(new Error(one.kind)))),
  )
  try {
    return await Promise.any(isSent)
  } catch {
    const all = await Promise.all(postings)
    // A node with an unknown result may have forwarded it.
    return all.find(({ kind }) => kind === 'unknown') ?? all[0] ?? { kind: 'unknown', why: 'no node is available' }
  }
}

/**
 * Throws a `TypeError` if the bytes are not a transaction with that signature, because the outcome would be that of
 * another.
 */
function toSignedPayment({ wire, signature, slot }: SignedBytes): SignedPayment {
  if (readSignature(openTransaction(wire)) !== signature)
    throw new TypeError('the bytes were not signed with this signature')
  return { wire: getBase64Decoder().decode(wire), signature, slot }
}
