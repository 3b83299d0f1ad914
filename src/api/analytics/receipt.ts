/**
 * `GET /api/receipt`: the signed receipt of a payment, for its seller.
 *
 * The ledger stores the requestId only as a keyed hash, so it is read from the memo on the chain. The ledger does not
 * store the address of the purchase either: `resource` is the endpoint.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { formatUnits } from '../../core/money/money.ts'
import { formatReceipt, parseReceipt, type SignedReceipt } from '../../core/protocol/receipt.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import type { BooksParts } from './reports.ts'

export type ReceiptParts = Pick<BooksParts, 'books' | 'decimalsOf' | 'nameOf'> & {
  readonly service: Pick<Runtime, 'chain' | 'identity'>
}

export type ReceiptReading =
  | { readonly kind: 'receipt'; readonly receipt: SignedReceipt }
  | { readonly kind: 'none'; readonly why: string }
  | { readonly kind: 'unavailable' }

const patienceMs = 2_000

export async function readReceipt(parts: ReceiptParts, tx: Uint8Array): Promise<ReceiptReading> {
  const { books, decimalsOf, nameOf, service } = parts
  const history = await books.history(tx)
  const { payment, registeredAt } = history ?? {}
  if (!payment || registeredAt === undefined || !['confirmed', 'finalized'].includes(payment.state))
    return { kind: 'none', why: 'The payment has no receipt, because it was not accepted.' }
  const decimals = decimalsOf(payment.token)
  if (decimals === undefined) return { kind: 'none', why: 'The decimals of its token are unknown.' }
  const reference = encodeBase58(tx)
  const reading = await service.chain.read(reference, patienceMs)
  if (reading.kind !== 'found') return { kind: 'unavailable' }
  const requestId = reading.effect.memos.find((memo) => nameOf(memo) === payment.request)
  if (requestId === undefined)
    return { kind: 'none', why: 'The chain has only a short form of its requestId. The buyer has the receipt.' }
  const header = formatReceipt(
    {
      status: 'success',
      method: 'solana',
      reference,
      timestamp: new Date(registeredAt).toISOString(),
      requestId,
      resource: payment.endpoint,
      token: payment.token,
      amount: formatUnits(payment.units, decimals),
      payer: payment.payer,
    },
    service.identity.sign,
  )
  const receipt = parseReceipt(header)
  if (!receipt) throw new Error('the receipt cannot be read back')
  return { kind: 'receipt', receipt }
}
